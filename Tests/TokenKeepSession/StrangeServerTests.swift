import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepSession

/// Servers, portals and clocks that are not what they should be.
struct StrangeServerTests {
    private let world = SessionWorld()

    private func fault(_ body: () throws -> Void) throws -> TokenKeepError {
        try #require(throws: TokenKeepError.self) { try body() }
    }

    // MARK: A clock that is set back

    /// - Parameter setBack: seconds.
    @Test(arguments: [60, 3600, 86_000, 90_000], [false, true])
    func aClockThatIsSetBackLengthensNoPause(setBack: Int64, restarts: Bool) throws {
        let session = try world.signedIn()
        world.server.next(.says(503, [:], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        world.setWallClock(by: -setBack)
        if restarts { world.restart() }
        let pause = try session.storage.note()?.coolDown(at: session.options.clock()) ?? 0
        // After another start of the machine no clock tells.
        #expect(pause == (restarts ? 0 : 30))
        world.move(seconds: 31)
        try session.validate()
    }

    @Test func aClockThatIsSetForwardEndsAPause() throws {
        let session = try world.signedIn()
        world.server.next(.says(503, [:], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.validate() }
        world.setWallClock(by: 31)
        try session.validate()
    }

    @Test func aNoteKeepsItsPause() throws {
        var note = SessionNote()
        let now = SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one")
        note.coolDown(after: .asksToWait(600), "it asks to wait (503)", now: now)
        #expect(try SessionNote(note.serialized()) == note)
        #expect(note.coolDownEnd(at: now)?.rawValue == 1_800_000_600)
        // An hour back, five minutes later.
        let later = SessionTime(wall: 1_800_000_300 - 3600, boottime: 1300, boot: "one")
        #expect(note.coolDownEnd(at: later)?.rawValue == later.wall + 300)
        // Two days back.
        let muchLater = SessionTime(wall: 1_800_000_300 - 2 * 86_400, boottime: 1300, boot: "one")
        #expect(note.coolDown(at: muchLater) == 300)
        #expect(note.coolDownEnd(at: muchLater)?.rawValue == muchLater.wall + 300)
    }

    @Test(arguments: [Int64.min, -1, 1001, .max]) func aPauseThatNeverBeganIsNone(boottime: Int64) {
        var note = SessionNote()
        note.coolDownUntil = 1_800_000_600
        note.pause = SessionNote.Pause(
            since: SessionTime(wall: .min, boottime: boottime, boot: "one"), seconds: 86_400)
        #expect(note.coolDown(at: SessionTime(wall: 1_800_000_000, boottime: 1000, boot: "one")) == nil)
    }

    @Test func aQuestionLeavesTheReasonOfAFailedRefresh() throws {
        let session = try world.signedIn()
        world.server.next(.says(500, [:], #"{"error":"server_error"}"#), .says(503, [:], ""), .says(429, [:], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        for _ in 0..<2 {
            #expect(throws: TokenKeepError(.unavailable, "")) { try session.validate() }
            #expect(try session.info().problem == "it answered 500 (server_error)")
            world.move(seconds: 300)
        }
    }

    @Test(arguments: [Int64.min, -1, 86_401, .max]) func aForgedPauseEndsNoProcess(seconds: Int64) throws {
        let session = try world.signedIn()
        try session.storage.changeNote(session.begin()) { note in
            note.coolDownUntil = 1_800_000_600
            note.pause = SessionNote.Pause(
                since: SessionTime(wall: .min, boottime: .max, boot: "one"), seconds: seconds)
            return true
        }
        _ = try? session.info()
        _ = try? Sessions(world.store()).list()
        #expect(try world.session().token().text == "access-1")
    }

    // MARK: Pages

    static let pages = [
        "<html>Welcome to the hotel</html>", "\n <!DOCTYPE html>", "\u{FEFF}<!doctype HTML PUBLIC>",
    ]

    @Test(arguments: ["<?xml version=\"1.0\"?><ok/>", "<ok/>", "<", "<htm", "", "html"])
    func aBodyThatIsNoPageForPeopleValidates(body: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 100)
        world.server.next(.says(200, [:], body))
        try session.validate()
        #expect(try session.info().validatedAt?.rawValue == 1_800_000_100)
    }

    @Test func aPageMayHaveAnyEncoding() throws {
        for isBigEndian in [false, true] {
            let units = "\u{FEFF}\r\n<HTML>".utf16.map { isBigEndian ? $0.bigEndian : $0.littleEndian }
            #expect(SessionResponse.isPage(try units.withUnsafeBytes { try SecretBytes(bytes: Array($0)) }))
        }
    }

    @Test(arguments: pages) func aPageValidatesNothing(page: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 100)
        world.server.next(.says(200, [:], page))
        let error = try fault { try session.validate() }
        #expect(error.status == .unavailable)
        #expect(error.message == "the server answered 200 with a page, which says neither yes nor no")
        #expect(try session.info().validatedAt?.rawValue == 1_800_000_000)
    }

    @Test(arguments: pages) func aPageExtendsNothing(page: String) throws {
        let session = try world.signedIn()
        world.server.next(.says(200, [:], page))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        #expect(try session.token().secondsLeft == 3600)
    }

    @Test(arguments: pages) func aPageRevokesNothing(page: String) throws {
        let session = try world.signedIn()
        world.server.next(.says(200, [:], page))
        #expect(try session.end().revocation == .queued)
        world.move(seconds: 301)
        _ = try Outbox(world.store(), session.options).flush()
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test(arguments: [
        #"{"error":"invalid_token"}"#, #"{"error":{"code":"x"}}"#, #"{"error_code":"x"}"#, "error=invalid_token",
    ])
    func anErrorIsNoYesWhateverItsStatus(body: String) throws {
        let session = try world.signedIn()
        world.move(seconds: 100)
        world.server.next(.says(200, [:], body), .says(200, [:], body))
        let error = try fault { try session.validate() }
        #expect(error.status == .unavailable)
        #expect(error.message == "the server answered 200 with an error, which is no yes")
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.extend(by: 600) }
        #expect(try session.info().validatedAt?.rawValue == 1_800_000_000)
    }

    @Test func anExtensionByNothingEndsNoToken() throws {
        let session = try world.signedIn()
        world.server.set(extensionAnswer: #"{"expires_in":0}"#)
        try session.extend(by: 600)
        #expect(try session.token().secondsLeft == 3600)
    }

    @Test func anyOtherTextAccepts() throws {
        let session = try world.signedIn()
        for body in ["", "ok", "{}", "eyJhbGciOiJub25lIn0.e30."] {
            world.server.next(.says(200, [:], body))
            try session.validate()
        }
    }

    // MARK: Messages

    @Test(arguments: [
        (TokenServer.Mood.says(500, [:], ""), "an earlier refresh gave no tokens: it answered 500"),
        (.losesAnswer, "the answer to an earlier refresh was lost"),
    ])
    func aRefreshThatIsNotRepeatedSaysWhatBecameOfTheEarlierOne(mood: TokenServer.Mood, reason: String) throws {
        let session = try world.signedIn()
        world.server.next(mood)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        world.move(seconds: 100)
        #expect(try fault { _ = try session.refresh() }.message == "the session was not renewed: \(reason)")
    }

    @Test func aTokenThatWasJustGivenAndIsRefusedIsNamed() throws {
        let session = try world.signedIn()
        world.server.next(.says(401, [:], ""), .answers, .says(401, [:], ""))
        let error = try fault { try session.validate() }
        #expect(error.message == "the server refuses a token that it has just given (401)")
        #expect(
            error.hint
                == "the session was renewed and goes on; check that this endpoint takes the tokens of this server")
    }

    static let targets: [(resource: String?, scope: String?, words: String)] = [
        ("https://files.example.com", nil, "the resource"), (nil, "write", "the scope"),
        ("https://files.example.com", "write", "the resource or the scope"),
    ]

    @Test(arguments: targets)
    func aRefusedTargetIsNoRefusedClient(resource: String?, scope: String?, what: String) throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], #"{"error":"invalid_target"}"#))
        let error = try fault { _ = try session.token(for: TokenTarget(resource: resource, scope: scope)) }
        #expect(error.status == .denied && error.message == "the server refuses \(what): invalid_target")
        #expect(error.hint == "the session's other tokens go on; check --resource and --scope")
        #expect(try session.token().text == "access-1")
    }

    /// Microsoft Entra ID (AADSTS500011).
    @Test(arguments: [400, 403]) func aResourceThatTheServerDoesNotKnowLeavesTheSessionsOtherTokens(status: Int) throws
    {
        let session = try world.signedIn()
        for _ in 0..<3 {
            world.server.next(.says(status, [:], #"{"error":"invalid_resource"}"#))
            let error = try fault {
                _ = try session.token(for: TokenTarget(resource: "https://files.example.com", scope: nil))
            }
            #expect(error.message == "the server refuses the resource: invalid_resource")
        }
        #expect(try session.refresh().text == "access-2")
    }

    @Test func aRefusedScopeOfTheSignInIsNoRefusedClient() throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], #"{"error":"invalid_scope"}"#))
        let error = try fault { _ = try session.refresh() }
        #expect(error.message == "the server refuses the scope or the resource: invalid_scope")
        #expect(error.hint == "check scope and resource of the provider's file")
    }

    @Test func anErrorThatIsAnObjectIsRead() throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], #"{"error":{"code":"invalid_grant","message":"Token was revoked"}}"#))
        #expect(throws: TokenKeepError(.needsLogin, "")) { try session.refresh() }
        #expect(try session.info().problem == "invalid_grant: Token was revoked")
    }

    /// A gateway's own errors are objects too.
    @Test(arguments: [
        (#"{"error":{"type":"invalid_grant","description":"gone"}}"#, "invalid_grant: gone"),
        (#"{"error":{"code":400,"status":"invalid_grant"}}"#, "invalid_grant"),
        (#"{"error":{"code":"session_expired"}}"#, "session_expired"),
        (#"{"error":{"code":"login_required"}}"#, "login_required"),
        (#"{"error":{"code":"invalid_client"}}"#, "invalid_client"),
    ])
    func anotherErrorThatIsAnObjectEndsNoSession(body: String, words: String) throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], body))
        let error = try fault { _ = try session.refresh() }
        #expect(error.status == .unavailable)
        #expect(error.message == "the session was not renewed: it answered 400 (\(words))")
        #expect(try session.info().state == .user)
    }

    @Test func anEmptyRefusedTokenIsNone() throws {
        let session = try world.signedIn()
        let error = try fault { _ = try session.rejected(SecretBytes("")) }
        #expect(error.status == .invalid && error.message == "the refused token is empty")
        #expect(world.server.requests.isEmpty)
    }

    @Test func aTokenKnowsHowLongTheServersTokensLast() throws {
        let session = try world.signedIn()
        world.move(seconds: 3500)
        let token = try session.token(minTTL: 7200)
        #expect(token.isShort && token.lifetime == 3600 && token.secondsLeft == 3600)
    }
}
