import Foundation
import FoundationNetworking
import Observation
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// The accounts of an application, as its views see them.
@MainActor @Suite(.timeLimit(.minutes(20))) struct SessionManagerTests {
    private let world = FoundationWorld()

    struct User: Codable, Sendable, Equatable {
        var name = "Ann"
        var isGuest = false
    }

    private func manager(_ server: LoopbackServer? = nil) throws -> SessionManager<User> {
        SessionManager(service: world.service, store: try world.store(), options: try world.managerOptions(server))
    }

    private nonisolated static func signIn(
        _ account: String? = "ann", name: String = "Ann", lifetime: Int = 3600
    ) throws -> SignIn<User> {
        try SignIn(
            account: account, accessToken: "access-1", refreshToken: "refresh-1", expiresIn: .seconds(lifetime),
            user: User(name: name))
    }

    @Test func aSignInIsRestoredByTheNextRun() async throws {
        let first = try manager()
        #expect(first.state == .unknown)
        #expect(try await first.restore() == .signedOut)
        #expect(!first.isAuthenticated)
        try await first.login { try Self.signIn() }
        #expect(first.isAuthenticated)
        #expect(first.currentUser == User())
        let second = try manager()
        #expect(try await second.restore() == .user)
        #expect(second.currentUser == User())
        #expect(second.activeAccount == "ann")
        #expect(second.accounts == ["ann"])
        #expect(try await second.accessToken().value.utf8String == "access-1")
        #expect(await world.authority.refreshed.isEmpty)
    }

    @Test func aFailedSignInLeavesTheSessionAsItWas() async throws {
        let manager = try manager()
        try await manager.login { try Self.signIn() }
        await #expect(throws: APIError.badRequest) { try await manager.login { throw APIError.badRequest } }
        #expect(manager.currentUser == User())
        #expect(try await manager.accessToken().value.utf8String == "access-1")
    }

    @Test func aUserThatIsTooLongIsRefusedBeforeTheSession() async throws {
        let manager = try manager()
        await expect(.invalid) {
            try await manager.login { try Self.signIn(name: String(repeating: "n", count: 70_000)) }
        }
        #expect(try await manager.restore() == .signedOut)
    }

    @Test func thePasswordIsInNoFile() async throws {
        let password = "planted-password-7f3a"
        try await manager().login {
            #expect(!password.isEmpty)
            return try Self.signIn()
        }
        let names = FileManager.default.enumerator(atPath: world.directory.path)
        var files = 0
        while let name = names?.nextObject() as? String {
            guard let bytes = world.directory.read(name), !bytes.isEmpty else { continue }
            files += 1
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(!text.contains(password))
            #expect(!text.contains("access-1"))
        }
        #expect(files > 3)
    }

    @Test func accountsAreSwitched() async throws {
        let manager = try manager()
        try await manager.login { try Self.signIn("ann") }
        try await manager.login { try Self.signIn("bob", name: "Bob") }
        #expect(manager.activeAccount == "bob")
        #expect(manager.accounts == ["ann", "bob"])
        try await manager.switchAccount("ann")
        #expect(manager.currentUser?.name == "Ann")
        await expect(.notFound) { try await manager.switchAccount("carol") }
        #expect(manager.activeAccount == "ann")
        let next = try self.manager()
        try await next.restore()
        #expect(next.activeAccount == "ann")
    }

    @Test func anOutageSignsNobodyOut() async throws {
        let manager = try manager()
        try await manager.login { try Self.signIn() }
        await world.authority.become(.isAway)
        await expect(.unavailable) { try await manager.refreshAccessToken() }
        #expect(manager.isAuthenticated)
        #expect(try await manager.restore() == .user)
        await world.authority.become(.answers)
        try await manager.refreshAccessToken()
        #expect(try await manager.accessToken().value.utf8String == "access-2")
    }

    @Test func aRefusalIsShownAndAnEvent() async throws {
        let manager = try manager()
        var events = manager.events.makeAsyncIterator()
        try await manager.login { try Self.signIn() }
        await world.authority.become(.refuses)
        await expect(.needsLogin) { try await manager.refreshAccessToken() }
        #expect(await events.next() == .sessionExpired)
        #expect(manager.state == .needsLogin)
        #expect(manager.endReason == .refused)
        #expect(manager.currentUser == nil)
    }

    @Test func theLogoutOfAnotherProgramIsShownAndEndsTheRequests() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let manager = try manager(server)
        try await manager.login { try Self.signIn() }
        var events = manager.events.makeAsyncIterator()
        let client = try #require(manager.client)
        let request = Task { try await client.data(for: server.request("/")) }
        await gate.wait(for: 1)
        try await world.session().end()
        #expect(await events.next() == .authenticationRequired)
        await #expect(throws: APIError.authenticationRequired) { try await request.value }
        #expect(manager.state == .signedOut)
        #expect(!manager.isAuthenticated)
    }

    @Test func aViewIsToldOfASignIn() async throws {
        let manager = try manager()
        let (changed, changes) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = manager.isAuthenticated
        } onChange: {
            changes.yield()
        }
        try await manager.login { try Self.signIn() }
        var iterator = changed.makeAsyncIterator()
        #expect(await iterator.next() != nil)
    }

    @Test("Access token, Refresh token, User profile: always")
    func aLogoutClearsTheTokensTheUserAndTheState() async throws {
        let manager = try manager()
        try await manager.login { try Self.signIn() }
        let report = try await manager.logout()
        #expect(report?.revocation == .done)
        #expect(await world.authority.revoked == ["refresh-1"])
        #expect(manager.state == .signedOut)
        #expect(manager.endReason == .logout)
        #expect(manager.currentUser == nil && manager.activeAccount == nil && manager.session == nil)
        #expect(try await world.store().list().items.isEmpty)
        #expect(try await manager.logout() == nil)
        #expect(try await self.manager().restore() == .signedOut)
        await expect(.notFound) { try await manager.accessToken() }
    }

    @Test func aLockedVaultIsShownAsLocked() async throws {
        try await manager().login { try Self.signIn() }
        try world.setPassword("horse")
        try await world.store().lock()
        let manager = try manager()
        #expect(try await manager.restore() == .locked)
        #expect(!manager.isAuthenticated)
        try await world.store().unlock(password: .init("horse"))
        #expect(try await manager.restore() == .user)
        #expect(manager.currentUser == User())
    }

    // MARK: Guests

    private let limits = GuestLimitations(
        maxEditsPerDay: 5, featuresDisabled: ["save", "history", "premium_templates"])

    private func visit(_ manager: SessionManager<User>, expiresIn: Int? = nil) async throws {
        let limits = limits
        try await manager.continueAsGuest(user: User(name: "Guest", isGuest: true)) {
            GuestResponse(guestToken: "visit", expiresIn: expiresIn, limitations: limits)
        }
    }

    @Test("Token IS persisted in Keychain after app close")
    func aGuestsTokenIsThatOfTheNextRun() async throws {
        try await visit(manager())
        let next = try manager()
        try await next.restore()
        #expect(try await next.accessToken().value.utf8String == "visit")
    }

    @Test("Guest sign in generates new token each time")
    func theNextGuestHasTheTokenOfTheNextAnswer() async throws {
        let manager = try manager()
        for token in ["first", "second"] {
            try await manager.continueAsGuest { GuestResponse(guestToken: token) }
            #expect(try await manager.accessToken().value.utf8String == token)
        }
        #expect(try await self.manager().restore() == .guest)
    }

    @Test("Rate limit persists across multiple guest sessions (same device)")
    func theNextGuestIsOfTheSameDevice() async throws {
        let edits = Guarded<[String: Int]>([:])
        let server = try LoopbackServer { request in
            let count = edits.withLock { edits in
                edits[request.headers["x-device-id"] ?? "", default: 0] += 1
                return edits[request.headers["x-device-id"] ?? ""] ?? 0
            }
            return .init(status: count > 1 ? 429 : 200)
        }
        for number in 1...2 {
            let manager = try manager(server)
            try await manager.continueAsGuest { GuestResponse(guestToken: "visit-\(number)") }
            let status = try await manager.client?.data(for: server.request("/edit")).1.statusCode
            #expect(status == (number == 1 ? 200 : 429))
            try await manager.logout()
        }
        #expect(edits.withLock { Array($0.values) } == [2])
    }

    @Test("Local JWT validation without API call on app launch")
    func aRestoreReadsTheTokensEndAndAsksNoServer() async throws {
        // {"sub":"guest","exp":4102444800}, the year 2100
        let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJndWVzdCIsImV4cCI6NDEwMjQ0NDgwMH0.c2lnbmF0dXJl"
        try await manager().login {
            try SignIn(account: "ann", accessToken: token, refreshToken: "refresh-1", expiresIn: nil, user: User())
        }
        await world.authority.become(.isAway)
        let next = try manager()
        #expect(try await next.restore() == .user)
        let restored = try #require(try await next.accessToken().value.utf8String)
        let claims = try #require(UnverifiedClaims(jwt: restored))
        #expect(claims.subject == "guest")
        #expect(!claims.isExpired())
        #expect(await world.authority.refreshed.isEmpty)
    }

    @Test("App auto-restores guest session if token not expired (15 min window)")
    func aGuestIsRestoredWithTheLimitations() async throws {
        try await visit(manager())
        let next = try manager()
        #expect(try await next.restore() == .guest)
        #expect(next.isAuthenticated)
        #expect(next.currentUser == User(name: "Guest", isGuest: true))
        #expect(next.limitations == limits)
        let left = try #require(try await next.accessToken().timeLeft)
        #expect(left <= .seconds(900) && left > .seconds(800))
    }

    @Test("Token expiry (15 minutes for guests) handled locally")
    func aGuestWhoseTimeIsOverIsSignedOut() async throws {
        let manager = try manager()
        try await visit(manager, expiresIn: 0)
        #expect(manager.state == .signedOut)
        #expect(manager.endReason == .guestExpired)
        #expect(manager.currentUser == nil)
        #expect(try await self.manager().restore() == .signedOut)
        #expect(try await world.store().list().items.isEmpty)
    }

    @Test func aGuestBecomesAUserInOneWrite() async throws {
        let manager = try manager()
        try await visit(manager)
        try await manager.login { try Self.signIn(nil) }
        #expect(manager.state == .user)
        #expect(manager.currentUser == User())
        #expect(manager.limitations == nil)
        #expect(manager.accounts == [""])
        #expect(try await world.store().list(service: world.service).items.count == 1)
    }

    @Test func aGuestOfAnotherAccountEnds() async throws {
        let manager = try manager()
        try await visit(manager)
        try await manager.login { try Self.signIn("ann") }
        #expect(manager.accounts == ["ann"])
        #expect(try await world.store().list(service: world.service).items.count == 1)
    }

    @Test("The server's answer to a guest")
    func theServersAnswerIsDecoded() throws {
        let text = """
            {"guestToken": "eyJ", "expiresIn": 900,
             "limitations": {"maxEditsPerDay": 5, "featuresDisabled": ["save", "history", "premium_templates"]}}
            """
        let answer = try JSONDecoder().decode(GuestResponse.self, from: Data(text.utf8))
        #expect(answer.expiresIn == 900)
        #expect(answer.limitations == limits)
    }
}
