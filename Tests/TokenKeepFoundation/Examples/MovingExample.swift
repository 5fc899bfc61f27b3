import Foundation
import FoundationNetworking
import Testing
import TokenKeep
import TokenKeepFoundation

/// docs/applications.md, "Moving an application": the parts of a session's life as applications for iOS write them.
@MainActor @Suite(.timeLimit(.minutes(20))) struct MovingExample {
    private let world = FoundationWorld()

    struct User: Codable, Sendable, Equatable { let id: String }

    /// The application's helper: its callers add `await`.
    struct KeychainHelper: Sendable {
        let store: TokenStore

        func save(_ value: String, service: String, account: String) async throws {
            try await store.save(
                value, service: service, account: account, options: .init(accessibility: .afterFirstUnlock))
        }

        func read(service: String, account: String) async throws -> String? {
            do {
                return try await store.load(service: service, account: account).secret.utf8String
            } catch TokenKeepError.Status.notFound {
                return nil
            }
        }

        func delete(service: String, account: String) async throws {
            try await store.clear(service: service, account: account)
        }

        func deleteAll(service: String) async throws { try await store.clear(service: service) }
    }

    struct Endpoint: Sendable {
        let url: String

        func asURLRequest() throws -> URLRequest {
            guard let url = URL(string: url) else { throw APIError.invalidURL }
            return URLRequest(url: url)
        }
    }

    /// The application's client: the token, 401 and the repeat are `SessionClient`'s.
    actor NetworkClient {
        private let client: SessionClient

        init(client: SessionClient) { self.client = client }

        func request<T: Decodable & Sendable>(_ endpoint: Endpoint) async throws -> T {
            try await client.request(endpoint.asURLRequest())
        }
    }

    /// The text of the view that shows a limit.
    static func message(_ limit: RateLimit) -> String {
        let hours = limit.retryAfter.components.seconds / 3600
        return "You've reached your daily limit. Try again in \(hours) hour\(hours > 1 ? "s" : "")."
    }

    @Test func theKeychainHelper() async throws {
        let keychain = KeychainHelper(store: try world.store())
        try await keychain.save("access", service: "com.app.auth", account: "accessToken")
        try await keychain.save("refresh", service: "com.app.auth", account: "refreshToken")
        #expect(try await keychain.read(service: "com.app.auth", account: "accessToken") == "access")
        try await keychain.delete(service: "com.app.auth", account: "accessToken")
        #expect(try await keychain.read(service: "com.app.auth", account: "accessToken") == nil)
        try await keychain.deleteAll(service: "com.app.auth")
        #expect(try await keychain.read(service: "com.app.auth", account: "refreshToken") == nil)
    }

    @Test func theNetworkClientAndTheEventsOfItsViews() async throws {
        let server = try LoopbackServer { request in
            switch (request.headers["authorization"], request.path) {
            case ("Bearer access-2", "/me"): .init(body: #"{"id":"1"}"#)
            case ("Bearer access-2", _): .init(status: 429, headers: ["Retry-After": "7200"])
            default: .init(status: 401)
            }
        }
        let manager = SessionManager<User>(
            service: "api.example.com", store: try world.store(), options: try world.managerOptions(server))
        try await manager.login {
            try SignIn(
                accessToken: "access-1", refreshToken: "refresh-1", expiresIn: .seconds(3600), user: User(id: "1"))
        }
        var events = manager.events.makeAsyncIterator()
        let network = NetworkClient(client: try #require(manager.client))

        // 401: renewed and repeated.
        let user: User = try await network.request(Endpoint(url: server.origin + "/me"))
        #expect(user == manager.currentUser)

        await #expect(throws: APIError.self) {
            let _: User = try await network.request(Endpoint(url: server.origin + "/edit"))
        }
        guard case .rateLimitExceeded(let limit) = await events.next() else { throw Missing("the limit") }
        #expect(Self.message(limit) == "You've reached your daily limit. Try again in 2 hours.")
    }

    @Test func requestsWithoutAConnection() async throws {
        let server = try LoopbackServer { request in .init(status: request.body == "twice" ? 409 : 200) }
        let manager = SessionManager<User>(
            service: "api.example.com", store: try world.store(), options: try world.managerOptions(server))
        try await manager.login {
            try SignIn(
                accessToken: "access-1", refreshToken: "refresh-1", expiresIn: .seconds(3600), user: User(id: "1"))
        }
        let queue = try #require(manager.queue)
        for body in ["once", "twice"] {
            var request = try server.request("/orders", method: "POST")
            request.httpBody = Data(body.utf8)
            try await queue.add(request)
        }
        try await queue.send { request, outcome in
            switch outcome {
            case .accepted(_, let response): #expect(response.statusCode == 200)
            case .refused(_, let response): #expect(response.statusCode == 409)
            case .expired: Issue.record("\(request.id) is over")
            }
        }
        #expect(server.requests.map(\.body) == ["once", "twice"])

        try await queue.add(server.request("/orders", method: "POST"))
        try await manager.logout()
        #expect(server.requests.count == 2)
        #expect(manager.queue == nil)
    }
}
