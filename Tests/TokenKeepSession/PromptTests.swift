import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepSession

/// A user who is asked while a session is used.
struct PromptTests {
    private let world = SessionWorld()

    /// Whether no process has a lock of the session now.
    private func isFree(_ session: SessionEngine) throws -> Bool {
        for purpose in [SessionLock.Purpose.refresh, .change] {
            guard try SessionLock.acquire(purpose, of: session.name, session.store.records, .passed) != nil else {
                return false
            }
        }
        return true
    }

    @Test func nobodyWaitsForAPromptOfTheVault() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        _ = try world.signedIn(refreshLevel: .whenUnlocked)
        let other = try world.session()
        let wasFree = MutexGuarded<[Bool]>([])
        let session = try world.session(prompt: { _ throws(TokenKeepError) in
            let isFree = (try? self.isFree(other)) ?? false
            wasFree.withLock { $0.append(isFree) }
            return try SecretBytes("horse")
        })
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-2", "the refresh token was locked")
        try world.store().lock()
        try session.begin(.user, response: SecretBytes(world.server.signIn))
        try world.store().lock()
        try session.setProfile(SecretBytes("{}"))
        #expect(wasFree.withLock { $0 } == [true, true, true])
    }

    @Test func nobodyWaitsForAPromptOfTheKeyring() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.signedIn()
        let other = try world.session()
        let wasFree = MutexGuarded<[Bool]>([])
        world.shelf.lock()
        world.shelf.whenAsked {
            let isFree = (try? self.isFree(other)) ?? false
            wasFree.withLock { $0.append(isFree) }
        }
        let session = try world.session(prompt: { _ throws(TokenKeepError) in try SecretBytes("") })
        try session.begin(.user, response: SecretBytes(world.server.signIn))
        #expect(wasFree.withLock { $0 } == [true])
    }
}
