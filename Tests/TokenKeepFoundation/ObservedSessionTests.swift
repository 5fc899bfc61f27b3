import Foundation
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Objects beside the tokens, and streams of their changes.
@Suite(.timeLimit(.minutes(20))) struct ObservedSessionTests {
    private let world = FoundationWorld()

    struct Person: Codable, Sendable, Equatable { var name: String }

    private func observed(_ session: TokenSession? = nil) async throws -> ObservedSession {
        if let session { return ObservedSession(session) }
        return ObservedSession(try await world.signedIn())
    }

    @Test func eachOfTheFiveObjectsHasItsStreamAndItsFirstElementIsThePresent() async throws {
        let observed = try await observed()
        for object in ObservedSession.Object.allCases {
            try await observed.update(Person(name: object.rawValue), of: object)
        }
        for object in ObservedSession.Object.allCases {
            var changes = observed.changes(of: object, as: Person.self).makeAsyncIterator()
            #expect(try await changes.next()?.value == Person(name: object.rawValue))
        }
    }

    @Test func anObjectThatIsMissingIsUnavailableAndNeverNil() async throws {
        let observed = try await observed()
        var users = observed.changes(of: .user, as: Person.self).makeAsyncIterator()
        #expect(try await users.next() == .unavailable(.missing))
        try await observed.update(Person(name: "Ann"), of: .user)
        #expect(try await users.next()?.value == Person(name: "Ann"))
        try await observed.update(nil as Person?, of: .user)
        #expect(try await users.next() == .unavailable(.missing))
    }

    @Test func theEndByAnotherProgramIsAnElementWithItsReason() async throws {
        let observed = try await observed()
        try await observed.update(Person(name: "Ann"), of: .user)
        var users = observed.changes(of: .user, as: Person.self).makeAsyncIterator()
        #expect(try await users.next()?.value == Person(name: "Ann"))
        try await world.session().end()
        #expect(try await users.next() == .unavailable(.ended(.logout)))
    }

    @Test func theDateIsThatOfTheLastValidation() async throws {
        let observed = try await observed(world.session())
        try await observed.hydrate(accessToken: "access-1", refreshToken: "refresh-1", expiresIn: .seconds(3600))
        try await observed.update(Person(name: "Ann"), of: .user)
        #expect(try await observed.value(of: .user) == .available(Person(name: "Ann"), nil))
        try await observed.validate()
        guard case .available(_, let date) = try await observed.value(of: .user, as: Person.self) else {
            throw Missing("the user is gone")
        }
        #expect(abs(try #require(date).timeIntervalSinceNow) < Double(Patience.seconds))
        #expect(await world.authority.validated == ["access-1"])
    }

    @Test func theHeartbeatValidatesAndItsDateIsAnElement() async throws {
        let observed = try await observed(world.session())
        try await observed.hydrate(accessToken: "access-1", refreshToken: "refresh-1", expiresIn: .seconds(3600))
        try await observed.update(Person(name: "Ann"), of: .user)
        let heart = Task { try await observed.heartbeat(lookingEvery: .zero) }
        let validated = try await observed.changes(of: .user, as: Person.self).awaited { element in
            if case .available(_, let date) = element { return date != nil }
            return false
        }
        #expect(validated?.value == Person(name: "Ann"))
        heart.cancel()
        await #expect(throws: CancellationError.self) { try await heart.value }
        #expect(await world.authority.validated == ["access-1"])
    }

    @Test func aHydrationWithoutBothTokensFailsAndChangesNothing() async throws {
        let observed = try await observed()
        for (access, refresh) in [(nil, nil), ("a", nil), (nil, "r"), ("", "r"), ("a", "")] as [(String?, String?)] {
            await expect(.invalid) { try await observed.hydrate(accessToken: access, refreshToken: refresh) }
        }
        #expect(try await observed.tokens.token().value.utf8String == "access-1")
    }

    @Test func anExtensionHasItsBounds() async throws {
        let observed = try await observed()
        await expect(.invalid) { try await observed.extend(by: .seconds(299)) }
        await expect(.invalid) { try await observed.extend(by: .seconds(31_536_001)) }
        try await observed.extend(by: .seconds(300))
        #expect(try #require(try await observed.tokens.token().timeLeft) > .seconds(7000))
    }

    @Test(
        "revoke clears all values for Session, User, MemberSession, Member, Organization, sessionToken and sessionJwt")
    func aRevocationClearsAllSevenValues() async throws {
        let observed = try await observed()
        for object in ObservedSession.Object.allCases {
            try await observed.update(Person(name: "Ann"), of: object)
        }
        #expect(try await observed.revoke().revocation == .done)
        for object in ObservedSession.Object.allCases {
            let value = try await observed.value(of: object, as: Person.self)
            #expect(value == .unavailable(.ended(.logout)))
        }
        await expect(.notFound) { try await observed.tokens.token() }
        await expect(.notFound) { try await observed.tokens.refresh() }
        #expect(try await world.store().list().items.isEmpty)
        #expect(await world.authority.revoked == ["refresh-1"])
    }

    @Test func changesAtOnceLoseNoObject() async throws {
        let observed = try await observed()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for object in ObservedSession.Object.allCases {
                group.addTask { try await observed.update(Person(name: object.rawValue), of: object) }
            }
            try await group.waitForAll()
        }
        for object in ObservedSession.Object.allCases {
            #expect(try await observed.value(of: object).value == Person(name: object.rawValue))
        }
    }

    @Test func aLockedVaultIsUnavailable() async throws {
        let observed = try await observed()
        try await observed.update(Person(name: "Ann"), of: .user)
        try world.setPassword("horse")
        try await world.store().lock()
        #expect(try await observed.value(of: .user, as: Person.self) == .unavailable(.locked))
    }
}
