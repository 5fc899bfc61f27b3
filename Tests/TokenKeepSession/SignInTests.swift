import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// Sign-ins that are refused, that come twice, and that find tokens of the same provider waiting to be revoked.
struct SignInTests {
    private let world = SessionWorld()
    private let service = "api.example.com"

    private func session(_ account: String = "ann", provider: String? = "example") throws -> SessionEngine {
        var options = try world.session(account).options
        options.provider = provider
        return try SessionEngine(world.store(), service: service, account: account, options)
    }

    private func signIn(_ number: Int) throws -> SecretBytes {
        try SecretBytes(#"{"access_token":"a\#(number)","refresh_token":"family-\#(number)","expires_in":3600}"#)
    }

    private func tokens(_ number: Int) throws -> TokenResponse {
        try signIn(number).withUnsafeBytes { try TokenResponse.strict($0) }
    }

    /// A session whose logout found no server.
    private func queued(_ account: String = "ann", provider: String? = "example") throws -> SessionEngine {
        let session = try session(account, provider: provider)
        try session.begin(.user, response: signIn(1))
        world.server.become(.isAway)
        #expect(try session.end().revocation == .queued)
        world.server.become(.answers)
        return session
    }

    private var waiting: Int { get throws { try world.store().list(service: Outbox.service).items.count } }

    // MARK: Refused sign-ins

    @Test func aLevelThatCannotBeHadLeavesNothingBehind() throws {
        #expect(throws: TokenKeepError(.unsupported, ""), "the vault is bound to no device") {
            try world.session(refreshLevel: .whenUnlockedThisDeviceOnly).begin(.user, response: signIn(1))
        }
        #expect(try world.session().info().state == .signedOut)
        #expect(try Sessions(world.store()).list().sessions.allSatisfy { $0.state == .signedOut })
        let session = try world.session()
        try session.begin(.user, response: signIn(2))
        #expect(try session.token().text == "a2")
        #expect(try session.info().refreshLevel == nil)
    }

    @Test func aLevelThatCannotBeHadLeavesThePresentSession() throws {
        let session = try world.signedIn()
        let note = try session.storage.note()
        #expect(throws: TokenKeepError(.unsupported, ""), "the vault is bound to no device") {
            try world.session(refreshLevel: .whenUnlockedThisDeviceOnly).begin(.user, response: signIn(1))
        }
        #expect(try session.storage.note() == note)
        #expect(try world.session().token().text == "access-1")
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-2")
    }

    @Test func aLevelOfTheSessionThatCannotBeHadLeavesNoRefreshTokenBehind() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        var options = try world.session().options
        options.level = .afterFirstUnlockThisDeviceOnly
        options.refreshLevel = .whenUnlockedThisDeviceOnly
        let session = try SessionEngine(world.store(), service: service, account: "ann", options)
        #expect(throws: TokenKeepError.self) { try session.begin(.user, response: signIn(1)) }
        #expect(try world.store().list(service: RefreshItem.service).items.isEmpty)
        try world.session().begin(.user, response: signIn(2))
        #expect(try world.session().token().text == "a2")
    }

    @Test func aRecordThatIsRefusedAfterItsRefreshTokenWasSavedLeavesNeither() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let session = try world.session(refreshLevel: .whenUnlocked)
        world.shelf.refuse(service: service)
        #expect(throws: TokenKeepError(.denied, "")) { try session.begin(.user, response: signIn(1)) }
        #expect(try world.store().list(service: RefreshItem.service).items.isEmpty)
        #expect(try session.info().state == .signedOut)
        world.shelf.refuse(service: nil)
        try session.begin(.user, response: signIn(2))
        #expect(try session.token().text == "a2")
        #expect(try world.store().list(service: RefreshItem.service).items.count == 1)
    }

    @Test func aRecordThatIsRefusedLeavesThePresentSessionItsRefreshToken() throws {
        let world = SessionWorld(stack: "any required secret-service")
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let session = try world.signedIn(refreshLevel: .whenUnlocked)
        world.shelf.refuse(service: service)
        #expect(throws: TokenKeepError(.denied, "")) { try session.begin(.user, response: signIn(1)) }
        world.shelf.refuse(service: nil)
        #expect(try world.session().token().text == "access-1")
        world.move(seconds: 3400)
        try world.store().unlock(SecretBytes("horse"))
        #expect(try session.token().text == "access-2")
    }

    @Test(
        arguments: [
            (.unsupported, true), (.policy, true), (.denied, true), (.io, false), (.timedOut, false),
            (.unavailable, false),
        ] as [(Status, Bool)])
    func aSignInIsWithdrawnAfterAnErrorThatSavedNothing(status: Status, isRefused: Bool) {
        #expect(SignInRules.isRefused(status) == isRefused)
    }

    // MARK: Tokens that wait to be revoked

    @Test func aWaitingTokenOfTheProviderIsSentBeforeTheNextSignIn() throws {
        let session = try queued()
        session.outbox.sendBeforeSignIn(
            at: "example", within: Patience.milliseconds, until: Deadline(milliseconds: 300_000))
        #expect(world.server.revoked == ["family-1"])
        #expect(try waiting == 0)
    }

    @Test func aWaitingTokenThatCannotBeSentIsHeldBackDuringASignInAndDroppedAfterIt() throws {
        let session = try queued()
        world.server.become(.says(500, [:], ""))
        session.outbox.sendBeforeSignIn(
            at: "example", within: Patience.milliseconds, until: Deadline(milliseconds: 300_000))
        world.server.become(.answers)
        world.move(seconds: 330)
        #expect(try session.outbox.flush().left == 1, "another process does not send it meanwhile")
        session.outbox.drop(of: "other")
        #expect(try waiting == 1)
        session.outbox.drop(of: "example")
        #expect(try waiting == 0)
        #expect(world.server.revoked.isEmpty)
    }

    /// A revocation may end every session of the user and the client.
    @Test func aWaitingTokenOfTheSameProviderWaitsForTheLogoutOfTheNextSession() throws {
        let session = try queued()
        try session.begin(.user, response: signIn(2))
        #expect(try session.outbox.flush().left == 1)
        #expect(world.server.revoked.isEmpty)
        #expect(try session.end().revocation == .done)
        #expect(Set(world.server.revoked) == ["family-1", "family-2"])
        #expect(try waiting == 0)
    }

    @Test(arguments: [("ann", "other"), ("bob", "example")])
    func aWaitingTokenOfAnotherProviderOrAccountIsSent(account: String, provider: String) throws {
        let session = try queued()
        try self.session(account, provider: provider).begin(.user, response: signIn(2))
        #expect(try session.outbox.flush().sent == 1)
        #expect(world.server.revoked == ["family-1"])
    }

    @Test func theAnswerToARefreshThatCameAfterTheNextSignInEndsItNot() throws {
        let session = try session()
        try session.begin(.user, response: signIn(1))
        world.move(seconds: 3601)
        let other = try self.session()
        world.server.whileAnswering {
            _ = try? other.end(isLocalOnly: false)
            try? other.begin(.user, response: self.signIn(2))
        }
        world.server.next(.answers, .says(200, [:], #"{"access_token":"late","refresh_token":"late-1"}"#))
        world.server.become(.isAway)
        _ = try? session.token()
        world.server.become(.answers)
        _ = try session.outbox.flush()
        #expect(!world.server.revoked.contains("late-1"))
        #expect(try world.session().token().text == "a2")
    }

    // MARK: Two sign-ins at once

    @Test(arguments: [true, false])
    func theTokensOfTheLoserOfTwoSignInsWaitForTheLogout(isNamed: Bool) throws {
        let (first, second) = (try session(), try session())
        let start = SignInStart(first.store, service: service, account: isNamed ? "ann" : nil, first.options)
        world.move(seconds: isNamed ? 0 : 5)
        try first.begin(.user, tokens(1), revokesReplaced: false, signInSince: start)
        try second.begin(.user, tokens(2), revokesReplaced: false, signInSince: start)
        #expect(try first.token().text == "a2")
        #expect(try waiting == 1)
        #expect(try first.outbox.flush().left == 1, "its revocation could end the winner")
        #expect(try first.end().revocation == .done)
        #expect(Set(world.server.revoked) == ["family-1", "family-2"])
    }

    /// The sessions begin within the same second.
    @Test(arguments: ["ann", nil])
    func aSignInThatReplacesAnEarlierSessionQueuesNothing(account: String?) throws {
        let session = try session()
        try session.begin(.user, response: signIn(1))
        let start = SignInStart(session.store, service: service, account: account, session.options)
        try session.begin(.user, tokens(2), revokesReplaced: false, signInSince: start)
        #expect(try waiting == 0)
    }

    /// Whole seconds cannot tell two sessions of one second apart.
    @Test(
        arguments: [
            (1, "one", 11, true), (1, "one", 10, false), (1, "one", 9, false), (2, "one", 11, false),
            (1, "two", 11, false),
        ] as [(UInt64, String, Int64, Bool)])
    func withoutAnEpochARivalIsAFirstTokenOfALaterSecond(
        generation: UInt64, boot: String, second: Int64, isRival: Bool
    ) {
        let start = SignInStart(SessionTime(wall: 0, boottime: 10, boot: "one"))
        let obtained = SessionTime(wall: 0, boottime: second, boot: boot)
        #expect(SignInRules.isRival("b", generation, obtained, since: start) == isRival)
    }

    @Test(arguments: [("a", "a", false), ("a", "b", true), ("", "b", true)])
    func aRivalHasAnotherEpochThanTheSessionAtTheBeginning(earlier: String, present: String, isRival: Bool) {
        let now = SessionTime(wall: 0, boottime: 10, boot: "one")
        #expect(SignInRules.isRival(present, 2, now, since: SignInStart(now, epoch: earlier)) == isRival)
    }

    // MARK: What status tells

    @Test func tokensAreSaidToWaitOnlyWhileTheyDo() throws {
        let store = try world.store()
        #expect(try Sessions(store).waiting().hasOutbox == false)
        let session = try queued()
        #expect(try Sessions(store).waiting().hasOutbox == true)
        #expect(try session.outbox.flush().sent == 1)
        #expect(try Sessions(store).waiting().hasOutbox == false)
        let other = try self.session("bob")
        try other.begin(.user, response: signIn(3))
        #expect(try other.end().revocation == .done)
        #expect(try Sessions(store).waiting().hasOutbox == false)
    }

    @Test func aHintNamesAtMostFiveAccounts() throws {
        for number in 1...7 { try session("user-\(number)").begin(.user, response: signIn(number)) }
        let error = #expect(throws: TokenKeepError.self) { try session("eve").token() }
        #expect(error?.hint == "its accounts: user-1, user-2, user-3, user-4, user-5 and 2 more")
    }
}
