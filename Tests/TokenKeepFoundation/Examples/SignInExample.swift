import Foundation
import FoundationNetworking
import Testing
import TokenKeep
import TokenKeepFoundation

/// docs/applications.md, "Signing in" and "Guests": a manager, a client and an API that is played here.
@MainActor @Suite(.timeLimit(.minutes(20))) struct SignInExample {
    private let world = FoundationWorld()

    struct User: Codable, Sendable, Equatable {
        let id: String
        let email: String?
    }

    struct LoginResponse: Sendable {
        let accessToken: String
        let refreshToken: String
        let user: User
    }

    /// The application's API.
    enum AuthAPI {
        static func login(email: String, password: String) async throws -> LoginResponse {
            guard password == "correct horse" else { throw APIError.badRequest }
            return LoginResponse(
                accessToken: "access-1", refreshToken: "refresh-1", user: User(id: "1", email: email))
        }

        static func createGuestSession() async throws -> GuestResponse {
            GuestResponse(
                guestToken: "visit", expiresIn: 900,
                limitations: GuestLimitations(maxEditsPerDay: 5, featuresDisabled: ["save"]))
        }
    }

    private func login(_ manager: SessionManager<User>, email: String, password: String) async throws {
        try await manager.login {
            let response = try await AuthAPI.login(email: email, password: password)
            return try SignIn(
                accessToken: response.accessToken, refreshToken: response.refreshToken, expiresIn: .seconds(3600),
                user: response.user)
        }
    }

    @Test func aUser() async throws {
        let server = try LoopbackServer { request in
            request.headers["authorization"] == "Bearer access-2"
                ? .init(body: #"{"id":"1","email":"ann@example.com"}"#) : .init(status: 401)
        }
        let manager = SessionManager<User>(
            service: "api.example.com", store: try world.store(), options: try world.managerOptions(server))
        try await manager.restore()
        await #expect(throws: APIError.badRequest) {
            try await login(manager, email: "ann@example.com", password: "wrong")
        }
        try await login(manager, email: "ann@example.com", password: "correct horse")
        #expect(manager.isAuthenticated)
        #expect(manager.currentUser?.email == "ann@example.com")

        // A response 401 renews the token and repeats the request.
        let client = try #require(manager.client)
        let user: User = try await client.request(server.request("/me"))
        #expect(user.id == "1")

        try await manager.logout()
        #expect(manager.currentUser == nil)
        #expect(!manager.isAuthenticated)
    }

    @Test func aGuestWithADailyLimit() async throws {
        let server = try LoopbackServer { request in
            guard request.headers["x-device-id"] != nil else { return .init(status: 400) }
            return .init(status: 429, headers: ["Retry-After": "7200"])
        }
        let manager = SessionManager<User>(
            service: "api.example.com", store: try world.store(), options: try world.managerOptions(server))
        try await manager.restore()
        try await manager.continueAsGuest(user: User(id: UUID().uuidString, email: nil)) {
            try await AuthAPI.createGuestSession()
        }
        #expect(manager.limitations?.featuresDisabled == ["save"])
        let client = try #require(manager.client)
        let request = try server.request("/edit", method: "POST")
        do {
            let _: User = try await client.request(request)
            Issue.record("the limit was not told")
        } catch APIError.rateLimited(let limit) {
            #expect(limit.retryAfter == .seconds(2 * 3600))
        }

        // The sign-in takes the guest's place.
        try await login(manager, email: "ann@example.com", password: "correct horse")
        #expect(manager.state == .user)
    }
}
