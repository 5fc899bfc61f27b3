import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

@testable import TokenKeepSession

/// Sign-in, accounts, guests, records of others.
struct LifeCycleTests {
    private let world = SessionWorld()
    private let service = "api.example.com"

    @Test func aOneTimeCodeIsInTheMemoryOfItsStoreAlone() throws {
        let store = try world.store()
        let name = try ItemName(service: "api.example.com", account: "code")
        _ = try store.save(SaveRequest(name: name, secret: SecretBytes("123456"), accessLevel: .memoryOnly))
        #expect(try store.load(service: name.service, account: name.account).secret.utf8String == "123456")
        #expect(throws: TokenKeepError(.notFound, "")) {
            try world.store().load(service: name.service, account: name.account)
        }
    }

    @Test func aMistypedAccountIsAnsweredWithTheOneThatWasMeant() throws {
        _ = try world.signedIn("annika")
        _ = try world.signedIn("bob")
        for (typed, hint) in [
            ("anika", "the nearest account is annika; its accounts: annika, bob"), ("eve", "its accounts: annika, bob"),
        ] {
            do {
                _ = try world.session(typed).token()
                Issue.record("\(typed) has no session")
            } catch let error as TokenKeepError {
                #expect(error.hint == hint)
            }
        }
    }

    @Test func aNameThatLooksTheSameIsNamedAndIsAnotherOne() throws {
        let (composed, decomposed) = ("andr\u{E9}", "andre\u{301}")
        _ = try world.signedIn(composed)
        for (account, hint) in [
            (
                decomposed,
                "the account \(composed) is written in another Unicode form (NFC, NFD); its accounts: \(composed)"
            ),
            ("ANDR\u{C9}", "the nearest account is \(composed); its accounts: \(composed)"),
        ] {
            let error = try #require(throws: TokenKeepError.self) { try world.session(account).token() }
            #expect(error.status == .notFound)
            #expect(error.hint?.utf8.elementsEqual(hint.utf8) == true, "\(error.hint ?? "")")
        }
        let error = try #require(throws: TokenKeepError.self) {
            try SessionEngine(world.store(), service: "API.EXAMPLE.COM", account: nil)
        }
        #expect(error.status == .notFound)
        #expect(error.hint == "the nearest service is api.example.com; \(Sessions.signIn("API.EXAMPLE.COM", nil))")
    }

    /// A service whose accounts are signed out is the one that is meant.
    @Test func aServiceThatIsKnownIsNoMistake() throws {
        _ = try world.signedIn().end()
        let other = try SessionEngine(world.store(), service: "api.example.org", account: "ann")
        try other.begin(.user, response: SecretBytes(world.server.signIn))
        let error = try #require(throws: TokenKeepError.self) { try world.session().token() }
        #expect(error.hint == Sessions.signIn("api.example.com", "ann"))
        let unknown = try #require(throws: TokenKeepError.self) {
            try SessionEngine(world.store(), service: "api.example.net", account: nil)
        }
        #expect(unknown.hint?.hasPrefix("the nearest service is api.example.org") == true)
    }

    @Test func nobodyIsSignedInAtFirst() throws {
        let session = try world.session()
        #expect(throws: TokenKeepError(.notFound, "")) { try session.token() }
        #expect(try session.info().state == .signedOut)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.session(nil) }
    }

    @Test func theFirstAccountIsActiveUntilItsLogout() throws {
        let ann = try world.signedIn("ann")
        let bob = try world.signedIn("bob")
        #expect(try world.session(nil).name.account == "ann")
        #expect(try ann.info().isActive)
        #expect(try !bob.info().isActive)
        let sessions = try Sessions(world.store())
        #expect(try sessions.list(service: service).sessions.map(\.account) == ["ann", "bob"])
        #expect(throws: TokenKeepError(.notFound, "")) { try sessions.makeActive(service: service, account: "eve") }
        try sessions.makeActive(service: service, account: "bob")
        #expect(try world.session(nil).name.account == "bob")
        _ = try bob.end()
        #expect(throws: TokenKeepError(.notFound, "")) { try world.session(nil) }
        #expect(try ann.token().text == "access-1")
    }

    @Test func aGuestLastsFifteenMinutesAndIsThenCleared() throws {
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit","token_type":"Bearer"}"#))
        #expect(try guest.token().secondsLeft == 900)
        #expect(try guest.info().state == .guest)
        world.move(seconds: 899)
        #expect(try guest.token().text == "visit")
        world.move(seconds: 2)
        #expect(throws: TokenKeepError(.notFound, "")) { try guest.token() }
        #expect(try guest.info().reason == .guestExpired)
        #expect(throws: TokenKeepError(.notFound, "")) {
            try world.store().load(service: service, account: "guest")
        }
        #expect(world.server.requests.isEmpty)
    }

    @Test func aGuestThatIsOverIsNotActive() throws {
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        world.move(seconds: 901)
        #expect(throws: TokenKeepError(.notFound, "")) { try guest.token() }
        _ = try world.signedIn("ann")
        #expect(try world.session(nil).name.account == "ann")
    }

    @Test func aGuestBecomesAUserByOneWrite() throws {
        let session = try world.session()
        try session.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        let reader = try world.session()
        #expect(try reader.token().text == "visit")
        try session.begin(.user, response: SecretBytes(world.server.signIn))
        #expect(try reader.token().text == "access-1")
        #expect(try reader.info().state == .user)
    }

    @Test func aRecordThatAnotherProgramWritesDuringARefreshMakesNobodyWait() throws {
        let session = try world.signedIn()
        let store = try world.store()
        world.move(seconds: 3601)
        world.server.whileAnswering { [service] in
            guard let name = try? ItemName(service: service, account: "ann"),
                let secret = try? SecretBytes(#"{"accessToken":"theirs","refreshToken":"refresh-9"}"#),
                let request = try? SaveRequest(name: name, secret: secret)
            else { return }
            _ = try? store.save(request)
        }
        #expect(try session.token().text == "theirs")
        _ = try Outbox(world.store(), session.options).flush()
        #expect(world.server.revoked == ["refresh-2"])
    }

    @Test func aSignInDuringARefreshWins() throws {
        let session = try world.signedIn()
        let other = try world.session()
        world.move(seconds: 3601)
        world.server.whileAnswering {
            try? other.begin(
                .user, response: SecretBytes(#"{"access_token":"fresh","refresh_token":"r","expires_in":60}"#))
        }
        #expect(try session.token().text == "fresh")
        #expect(world.server.requests == ["refresh-1"])
        #expect(try Outbox(world.store(), session.options).flush().sent == 1)
        #expect(world.server.revoked == ["refresh-2"])
    }

    @Test func aSignInThatDiedBeforeItsSecondNoteIsNotOverwritten() throws {
        let session = try world.signedIn()
        let epoch = String(repeating: "ab", count: 16)
        world.move(seconds: 3601)
        world.server.whileAnswering { [service] in
            let text =
                #"{"tokenkeep_session":1,"kind":"user","access_token":"fresh","refresh_token":"r","generation":1,"#
                + #""epoch":"\#(epoch)"}"#
            try? session.storage.changeNote(.patient) { note in
                note.nextEpoch = epoch
                return true
            }
            guard let name = try? ItemName(service: service, account: "ann"), let secret = try? SecretBytes(text),
                let request = try? SaveRequest(name: name, secret: secret)
            else { return }
            _ = try? session.store.save(request)
        }
        #expect(try session.token().text == "fresh")
        _ = try Outbox(world.store(), session.options).flush()
        #expect(world.server.revoked == ["refresh-2"])
    }

    @Test func aSessionThatCannotBeRenewedSurvivesARefresh() throws {
        let raw = try world.session("raw")
        try raw.begin(rawToken: SecretBytes("bare"))
        #expect(throws: TokenKeepError(.unsupported, "")) { try raw.refresh() }
        #expect(try raw.token().text == "bare")
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        #expect(throws: TokenKeepError(.unsupported, "")) { try guest.refresh() }
        #expect(try guest.token().text == "visit")
        #expect(throws: TokenKeepError(.expired, "")) { try raw.rejected(SecretBytes("bare")) }
        #expect(throws: TokenKeepError(.expired, "")) { try raw.token() }
    }

    @Test func aDamagedNoteIsSetAsideAndRebuiltFromTheRecord() throws {
        let session = try world.signedIn()
        let era = "vault/current"
        let notes = world.directory.names(in: era + "/sessions").filter { $0.count == 32 }
        #expect(notes.count == 1)
        world.directory.write([1, 2, 3], to: "\(era)/sessions/\(notes[0])")
        #expect(try world.session().token().text == "access-1")
        #expect(world.directory.names(in: era + "/sessions").contains("\(notes[0]).corrupt-1"))
        world.move(seconds: 3601)
        #expect(try session.token().text == "access-2")
    }

    @Test func aNoteThatIsDamagedDuringARefreshSignsNobodyOut() throws {
        let session = try world.signedIn()
        let sessions = "vault/current/sessions"
        let note = try #require(world.directory.names(in: sessions).first { $0.count == 32 })
        world.move(seconds: 3601)
        world.server.whileAnswering { [world] in
            world.directory.write([UInt8](repeating: 9, count: 200), to: "\(sessions)/\(note)")
        }
        #expect(try session.token().text == "access-2")
        #expect(try world.session().token().text == "access-2")
        #expect(try session.info().state == .user)
    }

    @Test func damagedSlotsCostAReadingAndNoToken() throws {
        let session = try world.signedIn()
        #expect(try session.token().text == "access-1")
        for bytes in [[], [UInt8](repeating: 7, count: 100), [UInt8](repeating: 0xFF, count: 600_000)] {
            world.directory.write(bytes, to: "vault/sessions/slots")
            #expect(try session.token().text == "access-1")
        }
    }

    @Test func aSessionSurvivesANewPassword() throws {
        let session = try world.signedIn()
        let store = try world.store()
        _ = try store.passwords.set(SecretBytes("horse"))
        #expect(try session.token().text == "access-1")
        #expect(try world.session(nil).name.account == "ann")
        #expect(world.directory.names(in: "vault").filter { $0.hasPrefix("era-") } == ["era-2"])
        world.move(seconds: 3601)
        #expect(try session.token().text == "access-2")
        try store.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try session.token() }
        #expect(try session.info().state == .locked)
    }

    @Test func aTokenThatAWrongClockEndedIsValidAgain() throws {
        let session = try world.session()
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a","expires_in":60}"#))
        world.setWallClock(by: 3600)
        #expect(throws: TokenKeepError(.expired, "")) { try session.token() }
        #expect(try session.info().reason == .expired)
        world.setWallClock(by: -3600)
        #expect(try session.token().text == "a")
    }

    @Test func aRecordOfAnotherProgramIsTakenOver() throws {
        let store = try world.store()
        _ = try store.save(
            SaveRequest(
                name: ItemName(service: service, account: "ann"),
                secret: SecretBytes(
                    #"{"accessToken":"old","refreshToken":"refresh-1","expiresAt":1800000600,"team":"blue"}"#)))
        let session = try world.session()
        #expect(try session.token().text == "old")
        #expect(try session.token().secondsLeft == 600)
        world.move(seconds: 601)
        #expect(try session.token().text == "access-2")
        let record = try store.load(service: service, account: "ann").secret.utf8String ?? ""
        #expect(record.contains(#""team":"blue""#))
        #expect(record.contains(#""plan":"gold""#))
    }

    /// Numbers at the ends of their ranges: an overflow would end the program.

    @Test(arguments: ["0", "9223372036854775807", "-9223372036854775808"])
    func aRecordWithOddNumbersIsRead(number: String) throws {
        let store = try world.store()
        let text =
            #"{"tokenkeep_session":1,"access_token":"a","refresh_token":"refresh-1","expires_in":\#(number),"#
            + #""generation":\#(number),"offset":\#(number),"obtained":{"wall":\#(number),"boottime":\#(number),"#
            + #""boot":"one"}}"#
        _ = try store.save(
            SaveRequest(name: ItemName(service: service, account: "ann"), secret: SecretBytes(text)))
        let session = try world.session()
        #expect(["a", "access-2"].contains(try session.token().text))
        #expect(try session.info().state == .user)
        #expect(try session.refresh().text.hasPrefix("access-"))
    }

    @Test func theLongestLifeIsACentury() throws {
        let session = try world.session()
        try session.hydrate(accessToken: SecretBytes("a"), refreshToken: SecretBytes("r"), expiresIn: .max)
        #expect(try session.token().secondsLeft == 3_155_760_000)
        #expect(try session.info().expiresAt != nil)
    }

    @Test func aRecordOfALaterVersionIsLeftAlone() throws {
        let store = try world.store()
        let text = #"{"tokenkeep_session":2,"access_token":"a"}"#
        _ = try store.save(
            SaveRequest(name: ItemName(service: service, account: "ann"), secret: SecretBytes(text)))
        #expect(throws: TokenKeepError(.unsupported, "")) { try world.session().token() }
        #expect(try store.load(service: service, account: "ann").secret.utf8String == text)
    }

    @Test(arguments: [
        "", "[]", "7", "{", "{}", #"{"access_token":""}"#, #"{"access_token":7}"#, #"{"access_token":"a\u0000b"}"#,
        #"{"access_token":"a\nb"}"#, #"{"access_token":"a","refresh_token":[]}"#,
        #"{"access_token":"a","token_type":"mac"}"#,
    ])
    func aResponseThatIsNoneChangesNothing(response: String) throws {
        let session = try world.signedIn()
        #expect(throws: TokenKeepError(.invalid, "")) { try session.begin(.user, response: SecretBytes(response)) }
        #expect(try session.token().text == "access-1")
    }

    @Test func dpopIsUnsupported() throws {
        let session = try world.signedIn()
        let response = try SecretBytes(#"{"access_token":"a","token_type":"DPoP"}"#)
        #expect(throws: TokenKeepError(.unsupported, "")) { try session.begin(.user, response: response) }
        #expect(try session.token().text == "access-1")
    }

    @Test(arguments: ["-1", "99999999999999999999", #""soon""#, "true", "[]"])
    func anOddLifetimeIsUnknown(expiresIn: String) throws {
        let session = try world.session()
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a","expires_in":\#(expiresIn)}"#))
        #expect(try session.token().secondsLeft == nil)
    }

    @Test func aUserWithoutARefreshTokenExpires() throws {
        let session = try world.session()
        try session.begin(.user, response: SecretBytes(#"{"access_token":"a","expires_in":"60"}"#))
        world.move(seconds: 59)
        #expect(try session.token().text == "a")
        world.move(seconds: 1)
        #expect(throws: TokenKeepError(.expired, "")) { try session.token() }
    }

    @Test func aProfileStaysBesideTheTokens() throws {
        let session = try world.signedIn()
        #expect(try session.profile() == nil)
        try session.setProfile(SecretBytes(#"{"name":"Ann"}"#))
        world.move(seconds: 3601)
        #expect(try session.token().text == "access-2")
        #expect(try session.profile()?.utf8String == #"{"name":"Ann"}"#)
    }
}
