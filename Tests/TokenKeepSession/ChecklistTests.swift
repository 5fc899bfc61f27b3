import Foundation
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepKeys
@testable import TokenKeepSession

/// The checklists of the first plans for sessions: what must never happen, what a logout clears, and how guests and users
/// live. The names are the lists' lines; the smell that a rule forbids stands behind the rule.
struct ChecklistTests {
    private let world = SessionWorld()
    private let service = "api.example.com"
    private let mark = "planted-token-7f3a"

    private func begin(_ session: SessionEngine, refresh: String? = "refresh-1", lifetime: Int = 3600) throws {
        let refresh = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
        try session.begin(
            .user, response: SecretBytes(#"{"access_token":"\#(mark)","expires_in":\#(lifetime)\#(refresh)}"#))
    }

    // MARK: What must never happen

    @Test("store tokens in UserDefaults (red flag: Tokens in UserDefaults)")
    func noFileHoldsATokenInPlain() throws {
        let session = try world.session()
        try begin(session, refresh: mark)
        _ = try session.token()
        var files = 0
        for name in FileManager.default.enumerator(atPath: world.directory.path) ?? FileManager.DirectoryEnumerator() {
            guard let bytes = world.directory.read("\(name)"), !bytes.isEmpty else { continue }
            files += 1
            #expect(!String(decoding: bytes, as: UTF8.self).contains(mark), "\(name)")
        }
        #expect(files > 3)
    }

    @Test("log or print tokens (red flag: Logging token values)")
    func noLineHoldsAToken() throws {
        let session = try world.session()
        try begin(session, refresh: mark)
        let token = try session.token()
        world.move(seconds: 3500)
        world.server.next(.isAway, .says(500, [:], mark))
        _ = try? session.token()
        _ = try? session.refresh()
        _ = try session.end()
        #expect(!world.explained.isEmpty)
        #expect(!world.explained.contains { $0.contains(mark) })
        #expect(!"\(token)".contains(mark))
        #expect(!String(reflecting: token).contains(mark))
    }

    @Test("hardcode secrets")
    func aRequestNamesTheClientAndNoSecret() throws {
        var options = SessionOptions()
        options.clientID = "my-app"
        let request = try SessionRequest(
            .refresh, ItemName(service: service, account: "ann"), SecretBytes("r"), isRefreshToken: true, of: nil,
            world.store(), options: options, deadline: .patient)
        #expect(request.body.utf8String == "grant_type=refresh_token&refresh_token=r&client_id=my-app")
    }

    @Test("retry refresh infinitely (red flag: Infinite refresh retry)")
    func threeAttemptsAndAWaitBetweenThem() throws {
        let session = try world.signedIn()
        world.server.become(.isAway)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        let pauses = world.pauses.withLock { $0 }
        #expect(pauses.count == 2)
        #expect(pauses.allSatisfy { (800...2400).contains($0) })
        world.server.become(.says(400, [:], #"{"error":"invalid_grant"}"#))
        for _ in 0..<10 { _ = try? session.refresh() }
        #expect(world.server.requests.count == 1)
    }

    @Test("refresh on every request (red flag: Refresh on every request)")
    func aGoodTokenAsksNobody() throws {
        let session = try world.signedIn()
        for _ in 0..<100 { _ = try session.token() }
        #expect(world.server.requests.isEmpty)
    }

    @Test("forget to clear sensitive data (red flag: Partial logout cleanup)")
    func aLogoutLeavesNoToken() throws {
        let session = try world.signedIn()
        let other = try world.session()
        _ = try other.token()
        _ = try session.end()
        let store = try world.store()
        #expect(try store.list().items.isEmpty)
        #expect(world.keys.stashes.withLock { $0.isEmpty })
        #expect(throws: TokenKeepError(.notFound, "")) { try other.token() }
        #expect(world.server.revoked == ["refresh-1"])
    }

    @Test("leave background tasks running after logout (red flag: Background tasks after logout)")
    func aStepAfterALogoutSendsNothing() throws {
        let session = try world.signedIn()
        let background = try world.session(validates: true)
        world.move(seconds: 3500)
        _ = try session.end(isLocalOnly: true)
        #expect(throws: TokenKeepError(.notFound, "")) { try background.step() }
        #expect(world.server.requests.isEmpty)
        #expect(world.server.validated.isEmpty)
    }

    @Test("use wrong accessibility level (red flag: kSecAttrAccessibleAlways)")
    func theLevelIsAfterFirstUnlockAndNoneIsAlways() throws {
        #expect(try world.signedIn().info().level == .afterFirstUnlock)
        let levels = (0...UInt32(20)).compactMap(AccessLevel.init(rawValue:)).map(\.word)
        #expect(!levels.isEmpty)
        #expect(!levels.contains { $0.contains("always") })
    }

    @Test("ignore Keychain errors (red flag: Ignoring Keychain errors)")
    func aLockedPlaceIsNoLogout() throws {
        _ = try world.signedIn()
        let store = try world.store()
        _ = try store.passwords.set(SecretBytes("horse"))
        try store.lock()
        let session = try world.session()
        #expect(throws: TokenKeepError(.locked, "")) { try session.token() }
        #expect(try session.info().state == .locked)
        try store.unlock(SecretBytes("horse"))
        #expect(try session.token().text == "access-1")
    }

    // MARK: What a logout clears

    @Test("Access token, Refresh token: always")
    func bothTokensAreCleared() throws {
        let session = try world.signedIn()
        _ = try session.end()
        #expect(throws: TokenKeepError(.notFound, "")) { try world.store().load(service: service, account: "ann") }
    }

    @Test("User profile: always")
    func theProfileIsCleared() throws {
        let session = try world.signedIn()
        try session.setProfile(SecretBytes(#"{"name":"Ann"}"#))
        _ = try session.end()
        #expect(throws: TokenKeepError(.notFound, "")) { try session.profile() }
        try begin(session)
        #expect(try session.profile() == nil)
    }

    @Test("API cache, Cookies: usually; User preferences, Downloaded files: maybe")
    func theApplicationsHooksRunInTheirOrder() throws {
        let session = try world.signedIn()
        let ran = MutexGuarded<[String]>([])
        for (order, name) in ["API cache", "Cookies", "User preferences", "Downloaded files"].enumerated().reversed() {
            session.onEnd(name, order: UInt32(100 * (order + 1))) { service, account, reason throws(TokenKeepError) in
                ran.withLock { $0.append("\(name) \(account) \(reason)") }
                if name == "Cookies" { throw TokenKeepError(.io, "the jar is gone") }
            }
        }
        let report = try session.end()
        #expect(
            ran.withLock { $0 } == [
                "API cache ann logout", "Cookies ann logout", "User preferences ann logout",
                "Downloaded files ann logout",
            ])
        #expect(report.hooks.map(\.result) == [.done, .failed, .done, .done])
    }

    @Test("App settings: usually keep")
    func theDeviceAndOtherItemsStay() throws {
        let store = try world.store()
        _ = try store.save(
            SaveRequest(
                name: ItemName(service: "settings", account: "ann"), secret: SecretBytes("dark"), accessLevel: nil))
        let session = try world.signedIn()
        let device = try Sessions(store).deviceID()
        _ = try session.end()
        #expect(try Sessions(world.store()).deviceID() == device)
        #expect(try store.load(service: "settings", account: "ann").secret.utf8String == "dark")
    }

    // MARK: Guests and users

    @Test("Guest sign in generates new token each time")
    func aSecondGuestTakesTheFirstOnesPlace() throws {
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit-1"}"#))
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit-2"}"#))
        #expect(try guest.token().text == "visit-2")
    }

    @Test("Token IS persisted in Keychain after app close; App auto-restores guest session if token not expired")
    func aGuestIsRestoredWithinFifteenMinutes() throws {
        try world.session("guest").begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        world.move(seconds: 899)
        world.restart()
        let restored = try world.session("guest", sends: false)
        #expect(try restored.token().text == "visit")
        #expect(try restored.info().state == .guest)
    }

    @Test("X-Device-ID header is sent with guest requests only; 400 errors for missing Device ID; rate limit by device")
    func theDeviceIsNamedByItsOwnCallAlone() throws {
        let sessions = try Sessions(world.store())
        let device = try sessions.deviceID()
        try world.session("guest").begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        _ = try world.session("guest").end()
        #expect(try Sessions(world.store()).deviceID() == device)
        let session = try world.signedIn()
        _ = try session.refresh()
        #expect(!world.server.requests.contains { $0.contains(device) })
    }

    @Test("401 errors are returned for expired/invalid tokens")
    func aRefusedTokenIsReplacedOnceAndAGuestEnds() throws {
        let session = try world.signedIn()
        let refused = try session.token()
        #expect(try session.rejected(refused.value).text == "access-2")
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        #expect(throws: TokenKeepError(.notFound, "")) { try guest.rejected(guest.token().value) }
        #expect(try guest.info().state == .signedOut)
    }

    @Test("429 rate limit errors with proper headers")
    func aRateLimitHoldsForEveryHandle() throws {
        let session = try world.signedIn()
        world.server.next(.says(429, ["Retry-After": "3600"], ""))
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        // A call that may take no longer than the rest of the time does not wait for it.
        world.move(seconds: 3600 - AnswerRules.shortWait)
        #expect(throws: TokenKeepError(.unavailable, "")) {
            try world.session(timeout: UInt32(AnswerRules.shortWait) * 1000).refresh()
        }
        #expect(world.server.requests.count == 1)
        world.move(seconds: AnswerRules.shortWait + 1)
        #expect(try world.session().refresh().text == "access-2")
    }

    @Test("Token expiry (15 minutes for guests) handled locally; Rate limit persists across multiple guest sessions")
    func aGuestEndsWithoutARequest() throws {
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        world.move(seconds: 901)
        #expect(throws: TokenKeepError(.notFound, "")) { try guest.token() }
        #expect(try guest.info().reason == .guestExpired)
        #expect(world.server.requests.isEmpty)
    }

    @Test("Local JWT validation without API call on app launch")
    func theClaimsAreReadHere() throws {
        let session = try world.session()
        // {"alg":"none"}.{"sub":"ann","exp":1800003600}
        try session.begin(
            .user,
            response: SecretBytes(
                #"{"access_token":"eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjE4MDAwMDM2MDB9.","expires_in":3600}"#))
        let claims = UnverifiedClaims(unverified: try session.token().value)
        #expect(claims?.unverified("sub") == "ann")
        #expect(claims?.unverified("exp") == "1800003600")
        #expect(world.server.requests.isEmpty)
    }
}
