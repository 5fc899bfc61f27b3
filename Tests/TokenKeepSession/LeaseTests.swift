import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepKeys
@testable import TokenKeepRecords
@testable import TokenKeepSession

/// Answers that a vault with a password keeps although it, or the keyring, was locked while the server answered.
struct LeaseTests {
    private static let both = "any sufficient secret-service\nany required vault"
    private let service = "api.example.com"

    private func refreshed(_ world: SessionWorld, _ meanwhile: @escaping @Sendable (Store) -> Void) throws
        -> SessionEngine
    {
        let session = try world.signedIn()
        let store = try world.store()
        if try store.records.open()?.keys.header.hasPassword != true {
            _ = try store.passwords.set(SecretBytes("horse"))
        }
        world.move(seconds: 3400)
        world.server.whileAnswering { meanwhile(store) }
        #expect(try session.token().text == "access-2")
        // The mark that the user locked the vault stays; no answer does.
        world.keys.stashes.withLock { #expect($0.keys.allSatisfy { $0.hasSuffix(":locked") }) }
        return session
    }

    private func record(_ world: SessionWorld) throws -> String {
        try world.store("any required vault").load(service: service, account: "ann").secret.utf8String ?? ""
    }

    @Test func aVaultThatIsLockedMeanwhileKeepsTheAnswerUnderItsPassword() throws {
        let world = SessionWorld()
        let session = try refreshed(world) { _ = try? $0.lock() }
        #expect(throws: TokenKeepError(.locked, "")) { try record(world) }
        #expect(throws: TokenKeepError(.locked, "")) { try world.session().token() }
        #expect(try !session.info().isStashed)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try record(world).contains("refresh-2"))
        world.move(seconds: 3400)
        #expect(try world.session().token().text == "access-3")
        #expect(world.server.requests == ["refresh-1", "refresh-2"])
    }

    @Test func aProfileThatIsReplacedMeanwhileIsNotLost() throws {
        let world = SessionWorld()
        _ = try refreshed(world) { store in
            let session = try? SessionEngine(store, service: "api.example.com", account: "ann")
            try? session?.setProfile(SecretBytes(#"{"name":"Ann"}"#))
        }
        #expect(try record(world).contains(#""name":"Ann""#))
    }

    @Test func aKeyringThatIsLockedMeanwhileLeavesAPendingWriteUnderThePassword() throws {
        let world = SessionWorld(stack: LeaseTests.both)
        let session = try refreshed(world) { _ in world.shelf.lock() }
        #expect(try record(world).contains("refresh-2"))
        #expect(try world.session().token().text == "access-2")
        try world.store().lock()
        #expect(throws: TokenKeepError(.locked, "")) { try record(world) }
        try world.store().unlock(SecretBytes("horse"))
        world.shelf.unlock()
        #expect(try session.token().text == "access-2")
        _ = try world.store().pendingChanges.sync()
        #expect(world.shelf.items.values.contains { $0.secret.utf8String?.contains("refresh-2") == true })
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func bothMayBeLockedMeanwhile() throws {
        let world = SessionWorld(stack: LeaseTests.both)
        let session = try refreshed(world) {
            world.shelf.lock()
            _ = try? $0.lock()
        }
        #expect(throws: TokenKeepError(.locked, "")) { try record(world) }
        try world.store().unlock(SecretBytes("horse"))
        world.shelf.unlock()
        #expect(try session.token().text == "access-2")
    }

    @Test func aLeaseEndsAfterAMinute() throws {
        #expect(SealingLease.longestLife == 60_000)
    }

    /// The flag is for every item, not for sessions alone.
    @Test func withoutTheFlagALockedKeyringRefusesASave() throws {
        let world = SessionWorld(stack: LeaseTests.both)
        let store = try world.store()
        let name = try ItemName(service: "a", account: "b")
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("one")))
        world.shelf.lock()
        var request = try SaveRequest(name: name, secret: SecretBytes("two"))
        #expect(throws: TokenKeepError(.locked, "")) { try store.save(request) }
        request.keepsWhenLocked = true
        #expect(throws: TokenKeepError(.locked, "")) { try store.save(request) }
        _ = try store.passwords.set(SecretBytes("horse"))
        #expect(try store.save(request).pendingModules == ["secret-service"])
        #expect(try store.load(service: "a", account: "b").secret.utf8String == "two")
        world.shelf.unlock()
        #expect(try store.pendingChanges.sync().left == 0)
        #expect(world.shelf.items[name]?.secret.utf8String == "two")
    }
}
