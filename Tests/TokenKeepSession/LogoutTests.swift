import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepSession

/// Logout, hooks, outbox.
struct LogoutTests {
    private let world = SessionWorld()
    private let service = "api.example.com"

    /// A session that ended while its vault was locked, which is open again.
    private func endedWhileLocked() throws -> (session: SessionEngine, store: Store) {
        let session = try world.signedIn()
        let store = try world.store()
        _ = try store.passwords.set(SecretBytes("horse"))
        try store.lock()
        #expect(try session.end().revocation == .waitingForUnlock)
        try store.unlock(SecretBytes("horse"))
        return (session, store)
    }

    @Test func aLogoutLeavesTheRecordOfALaterVersion() throws {
        let later = #"{"tokenkeep_session":2,"access_token":"a","refresh_token":"r"}"#
        let name = try ItemName(service: service, account: "ann")
        _ = try world.store().save(SaveRequest(name: name, secret: SecretBytes(later), accessLevel: nil))
        #expect(try world.session().end().revocation == .waitingForUnlock)
        #expect(try world.store().load(service: service, account: "ann").secret.utf8String == later)
    }

    private func mark(isSignedOut: Bool = false) throws -> UInt32 {
        let last = try #require(try LastLogout(of: world.session()))
        #expect(last.isSignedOut == isSignedOut)
        return last.mark
    }

    /// Damages the notes of all sessions.
    private func damageNotes() {
        let folder = "vault/current/sessions"
        for name in world.directory.names(in: folder) where !name.hasSuffix(".active") {
            world.directory.write([1, 2, 3], to: "\(folder)/\(name)")
        }
    }

    @Test func eachLogoutReplacesTheMark() throws {
        #expect(try LastLogout(of: world.session()) == nil)
        let session = try world.signedIn()
        let first = try mark()
        // Neither another sign-in nor a refresh is a logout.
        _ = try world.signedIn().refresh()
        #expect(try mark() == first)
        _ = try session.end()
        let second = try mark(isSignedOut: true)
        #expect(second != first)
        _ = try world.signedIn().refresh()
        #expect(try mark() == second)
        _ = try session.end()
        #expect(try ![first, second].contains(mark(isSignedOut: true)))
    }

    @Test func aNoteThatWasDamagedCountsAsALogout() throws {
        _ = try world.signedIn()
        let first = try mark()
        damageNotes()
        #expect(try mark() != first, "it is rebuilt from the record")
        _ = try world.session().end()
        let second = try mark(isSignedOut: true)
        damageNotes()
        #expect(try LastLogout(of: world.session()) == nil)
        _ = try world.signedIn()
        #expect(try ![0, first, second].contains(mark()))
    }

    @Test func aLateAnswerAfterALogoutWhoseNoteIsDamagedBringsNobodyBack() throws {
        let session = try world.signedIn()
        let other = try world.session()
        world.move(seconds: 3601)
        world.server.whileAnswering {
            _ = try? other.end()
            self.damageNotes()
        }
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(throws: TokenKeepError(.notFound, "")) { try world.session().token() }
        #expect(try world.store().list(service: service).items.isEmpty)
        #expect(try Outbox(world.store(), session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1", "refresh-2"])
    }

    @Test func aWaitThatTheServerAskedForIsKeptThoughItsEntryCannotBeWritten() throws {
        let world = SessionWorld(stack: "any required secret-service")
        let session = try world.signedIn()
        world.server.become(.isAway)
        #expect(try session.end().revocation == .queued)
        let asked = MutexGuarded(0)
        let counting = try world.session { request throws(TokenKeepError) in
            asked.withLock { $0 += 1 }
            return try world.server.transport(request)
        }
        world.server.become(.says(429, ["Retry-After": "600"], ""))
        world.server.whileAnswering { world.shelf.lock() }
        let flushed = try counting.outbox.flush()
        #expect(flushed.left == 1 && flushed.problem?.status == .locked)
        world.shelf.unlock()
        world.server.become(.answers)
        #expect(try counting.outbox.flush().left == 1)
        #expect(asked.withLock { $0 } == 1)
        world.move(seconds: 601)
        #expect(try counting.outbox.flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test func aLogoutEndsTheSessionForEveryHandleAndAtTheServer() throws {
        let session = try world.signedIn()
        let other = try world.session()
        #expect(try other.token().text == "access-1")
        let report = try session.end()
        #expect(report.revocation == .done)
        #expect(world.server.revoked == ["refresh-1"])
        #expect(throws: TokenKeepError(.notFound, "")) { try other.token() }
        #expect(throws: TokenKeepError(.notFound, "")) {
            try world.store().load(service: service, account: "ann")
        }
        #expect(try session.end().revocation == .none)
        #expect(try session.info().reason == .logout)
    }

    @Test func aLogoutWithoutAServerQueuesTheTokenForThirtyDays() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        #expect(try session.end().revocation == .queued)
        let outbox = Outbox(try world.store(), session.options)
        #expect(try outbox.flush().left == 1)
        world.server.become(.says(503, ["Retry-After": "60"], ""))
        #expect(try outbox.flush().left == 1)
        world.server.become(.answers)
        #expect(try outbox.flush().left == 1, "the server asked to wait")
        world.move(seconds: 61)
        let flushed = try outbox.flush()
        #expect(flushed.sent == 1)
        #expect(flushed.left == 0)
        #expect(world.server.revoked == ["refresh-1"])
    }

    /// A call lists the tokens of its namespace alone, and cannot know those of another.
    @Test func anEmptyOutboxHidesNoTokensOfAnotherNamespace() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        #expect(try session.end().revocation == .queued)
        world.server.become(.answers)
        for namespace in ["other", String(repeating: "n", count: Limits.namespace)] {
            let other = try Outbox(world.store(namespace: namespace), session.options)
            #expect(!other.mayHaveTokens)
            #expect(try other.flush().left == 0)
        }
        #expect(session.outbox.mayHaveTokens)
        #expect(try Sessions(world.store(namespace: "other")).losses().mayHaveOutbox)
        #expect(try session.outbox.flushIfMarked(service: service).sent == 1)
        #expect(try !Sessions(world.store()).losses().mayHaveOutbox)
    }

    /// The process that adds the token may be killed at any moment, and then no later call would look for the token.
    @Test func aFlushBesideALogoutLeavesTheMarkOfTheTokenThatIsBeingAdded() throws {
        let world = SessionWorld(stack: "any required secret-service")
        let session = try world.signedIn()
        world.server.become(.isAway)
        let marks = MutexGuarded<[Bool]>([])
        let other = try world.session("bob")
        world.shelf.whileSaving(service: Outbox.service) {
            let left = (try? other.outbox.flush(of: other.name))?.left
            marks.withLock { $0.append(left == 0 && other.outbox.mayHaveTokens) }
        }
        #expect(try session.end().revocation == .queued)
        #expect(marks.withLock { $0 } == [true])
        #expect(session.outbox.mayHaveTokens)
        world.server.become(.answers)
        #expect(try session.outbox.flush().sent == 1)
        #expect(!session.outbox.mayHaveTokens)
    }

    /// A logout does not wait for a keyring that lists slowly. A flush killed afterwards must have left the mark.
    @Test func aSlowFlushLeavesTheMarkOfATokenThatIsAddedMeanwhile() throws {
        let world = SessionWorld(stack: "any required secret-service")
        let session = try world.signedIn()
        let other = try world.signedIn("bob")
        world.server.become(.isAway)
        try other.outbox.mark.set()
        // An open file's inode is not used again.
        let folder = try #require(try world.store().records.open()).directory.path + "/sessions"
        let mark = open(folder + "/outbox", O_RDONLY | O_CLOEXEC)
        defer { close(mark) }
        let ended = MutexGuarded<[Bool]>([])
        world.shelf.whileListing {
            let lock = try? OutboxLock.tryForRemoving(other.store.records)
            let isFree = lock != nil
            guard !isFree else { return }
            world.shelf.whileListing(nil)
            let revocation = (try? session.end())?.revocation
            ended.withLock { $0.append(revocation == .queued) }
        }
        #expect(try other.outbox.flush().left == 0)
        #expect(ended.withLock { $0 } == [true])
        var status = stat()
        #expect(fstat(mark, &status) == 0 && status.st_nlink == 1, "it was removed for a moment")
    }

    @Test func aTokenThatNobodyRevokedIsDroppedAfterThirtyDays() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        _ = try session.end()
        world.move(seconds: 30 * 86_400 + 1)
        let flushed = try Outbox(world.store(), session.options).flush()
        #expect(flushed.dropped == 1)
        #expect(try world.store().list(service: Outbox.service).items.isEmpty)
    }

    @Test func anEntryThatAnotherProcessClearedDuringAFlushStaysCleared() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        _ = try session.end()
        world.server.become(.says(503, ["Retry-After": "60"], ""))
        let store = try world.store()
        let name = try #require(store.list(service: Outbox.service).items.first?.name)
        world.server.whileAnswering { _ = try? store.clear(service: name.service, account: name.account) }
        #expect(try Outbox(world.store(), session.options).flush().left == 1)
        #expect(try store.list(service: Outbox.service).items.isEmpty)
    }

    @Test func aRefreshAsksTheUserForNoTokenOfAnEarlierLogout() throws {
        _ = try world.store().passwords.set(SecretBytes("horse"))
        let bob = try world.signedIn("bob", refreshLevel: .whenUnlocked)
        world.server.become(.isAway)
        #expect(try bob.end().revocation == .queued)
        world.server.become(.answers)
        _ = try world.signedIn()
        let prompts = MutexGuarded(0)
        let session = try world.session(prompt: { _ throws(TokenKeepError) in
            prompts.withLock { $0 += 1 }
            return try SecretBytes("horse")
        })
        world.move(seconds: 3400)
        #expect(try session.token().text == "access-2")
        #expect(prompts.withLock { $0 } == 0)
        let flushed = try Outbox(session.store, session.options).flush()
        #expect(flushed.sent == 1, "the user asked for this one")
        #expect(prompts.withLock { $0 } == 1)
    }

    @Test func aFlushUsesTheTransportsOfTheOpenSessions() throws {
        let store = try world.store()
        #expect(throws: TokenKeepError(.unsupported, "")) { try Outbox(openSessionsOf: store) }
        world.server.become(.isAway)
        _ = try world.signedIn().end()
        var options = SessionOptions(transport: world.server.transport)
        let other = try SessionEngine(store, service: "other.example.com", account: "ann", options)
        #expect(try Outbox(openSessionsOf: store).flush().left == 1, "no session of the token's service is open")
        withExtendedLifetime(other) {}
        world.server.become(.answers)
        options.clientID = "app"
        let bob = try SessionEngine(store, service: service, account: "bob", options)
        let flushed = try Outbox(openSessionsOf: store).flush()
        #expect(flushed.sent == 1)
        #expect(flushed.left == 0)
        withExtendedLifetime(bob) {}
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test func theTokensOfASessionThatWaitAreCounted() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        #expect(try WaitingTokens(session.outbox).count(service: service, account: "ann") == 0)
        _ = try session.end()
        _ = try world.signedIn("bob").end()
        let waiting = try WaitingTokens(session.outbox)
        #expect(try waiting.count(service: service, account: "ann") == 1)
        #expect(try waiting.count(service: service, account: "eve") == 0)
        world.server.become(.answers)
        #expect(try Outbox(world.store(), session.options).flush().sent == 2)
        #expect(try WaitingTokens(session.outbox).count(service: service, account: "ann") == 0)
    }

    @Test func aNewSignInRevokesTheTokenOfTheReplacedSession() throws {
        let session = try world.signedIn()
        let response = try SecretBytes(#"{"access_token":"b","refresh_token":"other","expires_in":3600}"#)
        try session.begin(.user, response: response, revokesReplaced: true)
        #expect(try Outbox(world.store(), session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1"])
        // The server gave the same refresh token again.
        try session.begin(.user, response: response, revokesReplaced: true)
        #expect(try Outbox(world.store(), session.options).flush().sent == 0)
        #expect(try session.token().text == "b")
    }

    @Test func aLocalLogoutSendsNothing() throws {
        let session = try world.signedIn()
        #expect(try session.end(isLocalOnly: true).revocation == .none)
        #expect(world.server.revoked.isEmpty)
        #expect(try world.store().list(service: Outbox.service).items.isEmpty)
    }

    @Test func hooksRunInOrderAndAFailureStopsNone() throws {
        let session = try world.signedIn()
        let ran = MutexGuarded<[String]>([])
        session.onEnd("preferences", order: 300) { _, _, _ in ran.withLock { $0.append("preferences") } }
        session.onEnd("cookies", order: 200) { _, _, _ throws(TokenKeepError) in
            throw TokenKeepError(.io, "the jar is closed")
        }
        session.onEnd("caches", order: 100) { service, account, _ in
            ran.withLock { $0.append("caches of \(account) at \(service)") }
        }
        let report = try session.end()
        #expect(ran.withLock { $0 } == ["caches of ann at api.example.com", "preferences"])
        #expect(report.hooks.map(\.name) == ["caches", "cookies", "preferences"])
        #expect(report.hooks.map(\.result) == [.done, .failed, .done])
    }

    @Test func aLogoutDuringARefreshWinsAndTheLateTokenIsRevoked() throws {
        let session = try world.signedIn()
        let other = try world.session()
        world.move(seconds: 3601)
        world.server.whileAnswering {
            _ = try? other.end()
        }
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(throws: TokenKeepError(.notFound, "")) { try world.session().token() }
        #expect(try Outbox(world.store(), session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1", "refresh-2"])
    }

    @Test func aLocalLogoutDuringARefreshSendsNothingOfTheLateToken() throws {
        let session = try world.signedIn()
        let other = try world.session()
        world.move(seconds: 3601)
        world.server.whileAnswering { _ = try? other.end(isLocalOnly: true) }
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(try Outbox(world.store(), session.options).flush().sent == 0)
        #expect(world.server.revoked.isEmpty)
        #expect(try world.store().list(service: "api.example.com").items.isEmpty)
    }

    @Test func aLateAnswerWithTheTokenOfANewSignInIsNotRevoked() throws {
        let session = try world.signedIn(rotation: .none)
        let other = try world.session(rotation: .none)
        world.move(seconds: 3601)
        world.server.next(.says(200, [:], #"{"access_token":"late","expires_in":60}"#))
        world.server.whileAnswering {
            // Another login of the same account got the same refresh token.
            try? other.hydrate(
                accessToken: SecretBytes("new"), refreshToken: SecretBytes("refresh-1"), expiresIn: 3600)
        }
        #expect(try session.token().value.utf8String == "new")
        #expect(try Outbox(world.store(), session.options).flush().sent == 0)
        #expect(world.server.revoked.isEmpty)
    }

    @Test(arguments: [false, true]) func aSecretThatIsNoSessionSurvivesALogout(isLocalOnly: Bool) throws {
        let store = try world.store()
        let name = try ItemName(service: "api.example.com", account: "ann")
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("a password")))
        #expect(try world.session().end(isLocalOnly: isLocalOnly).revocation == .none)
        #expect(try store.load(service: name.service, account: name.account).secret.utf8String == "a password")
    }

    @Test func aFlushAsksAServerThatIsAwayOnce() throws {
        world.server.become(.isAway)
        for account in ["ann", "bob", "eve"] { _ = try world.signedIn(account).end() }
        let asked = MutexGuarded(0)
        let session = try world.session("ann") { _ throws(TokenKeepError) in
            asked.withLock { $0 += 1 }
            throw TokenKeepError(.unavailable, "no route to the server")
        }
        let flushed = try Outbox(world.store(), session.options).flush()
        #expect(flushed.left == 3)
        #expect(asked.withLock { $0 } == 1)
        world.server.become(.answers)
        #expect(try Outbox(world.store(), world.session().options).flush().sent == 3)
    }

    @Test func aFlushQueuesTheTokensOfALogoutWhileItWasLocked() throws {
        let (session, store) = try endedWhileLocked()
        #expect(try Outbox(store, session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-1"])
        #expect(try store.list(service: "api.example.com").items.isEmpty)
    }

    @Test func aSignInDuringALogoutIsNeitherRevokedNorCleared() throws {
        let session = try world.signedIn()
        let other = try world.session()
        session.onEnd("slow", order: 100) { _, _, _ in
            try? other.begin(
                .user, response: SecretBytes(#"{"access_token":"fresh","refresh_token":"r","expires_in":60}"#))
        }
        _ = try session.end()
        #expect(try session.token().text == "fresh")
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test func aRecordOfAnotherProgramAfterALogoutStays() throws {
        let (session, store) = try endedWhileLocked()
        let theirs = #"{"accessToken":"theirs"}"#
        _ = try store.save(
            SaveRequest(name: ItemName(service: service, account: "ann"), secret: SecretBytes(theirs)))
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(try store.load(service: service, account: "ann").secret.utf8String == theirs)
    }

    @Test func aLocalLogoutWhileLockedRevokesNothingAfterTheUnlock() throws {
        let session = try world.signedIn()
        let store = try world.store()
        _ = try store.passwords.set(SecretBytes("horse"))
        try store.lock()
        _ = try session.end(isLocalOnly: true)
        try store.unlock(SecretBytes("horse"))
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(try store.list(service: service).items.isEmpty)
        #expect(try store.list(service: Outbox.service).items.isEmpty)
    }

    @Test func aDamagedRecordKeepsNobodySignedIn() throws {
        let session = try world.signedIn()
        let folder = "vault/current/records"
        for name in world.directory.names(in: folder) { world.directory.write([1, 2, 3], to: "\(folder)/\(name)") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.session().token() }
        let report = try session.end()
        #expect(report.revocation == .waitingForUnlock)
        #expect(report.problem?.status == .corrupt, "nothing is locked")
        #expect(try session.info().state == .signedOut)
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(!world.directory.names(in: folder).isEmpty, "what cannot be read is not deleted")
    }

    @Test func aLogoutWhileLockedWaitsForTheUnlock() throws {
        let session = try world.signedIn()
        let store = try world.store()
        _ = try store.passwords.set(SecretBytes("horse"))
        try store.lock()
        let report = try session.end()
        #expect(report.revocation == .waitingForUnlock && report.problem?.status == .locked)
        #expect(try session.info().state == .signedOut)
        try store.unlock(SecretBytes("horse"))
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(try Outbox(store, session.options).flush().sent == 1)
        #expect(try store.list(service: service).items.isEmpty)
        #expect(world.server.revoked == ["refresh-1"])
    }
}
