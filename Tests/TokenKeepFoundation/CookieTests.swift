import Foundation
import FoundationNetworking
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Cookies of an application and of its servers.
@Suite(.timeLimit(.minutes(20))) struct CookieTests {
    private let world = FoundationWorld()
    private let server: LoopbackServer
    private let configuration = URLSessionConfiguration.ephemeral

    /// The application has a cookie of the server's host, and each response sets another one, with the path's name.
    init() throws {
        server = try LoopbackServer { request in
            .init(
                headers: ["Set-Cookie": "\(request.path.dropFirst())=set; Path=/"], body: Authority.tokens(2, 3600))
        }
        let cookie = HTTPCookie(properties: [
            .name: "application", .value: "own", .domain: "127.0.0.1", .path: "/",
            .expires: Date.now.addingTimeInterval(3600),
        ])
        try #require(configuration.httpCookieStorage).setCookie(#require(cookie))
    }

    private var kept: [String] { (configuration.httpCookieStorage?.cookies ?? []).map(\.name).sorted() }
    private var sent: [String?] { server.requests.map { $0.headers["cookie"] } }

    private func client(_ configuration: URLSessionConfiguration) async throws -> SessionClient {
        let client = SessionClient(
            session: try await world.signedIn(), urlSession: URLSession(configuration: configuration))
        try client.allow(origin: server.origin)
        return client
    }

    @Test func requestsAboutTokensNeitherSendNorKeepCookies() async throws {
        func address(_ path: String) throws -> URL { try #require(URL(string: server.origin + path)) }
        let endpoints = TokenEndpoints(
            token: try address("/token"), revocation: try address("/revoke"), validation: try address("/me"))
        let urlSession = URLSession(configuration: configuration)
        var options = TokenSession.Options()
        options.transport = endpoints.transport(urlSession)
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        _ = try await session.refresh()
        try await session.validate()
        #expect(try await session.end().revocation == .done)
        #expect(sent == [nil, nil, nil])
        #expect(kept == ["application"])
        // The application's own request has its cookie, and keeps the server's.
        _ = try await urlSession.data(from: address("/own"))
        #expect(sent.last == "application=own")
        #expect(kept == ["application", "own"])
    }

    @Test func requestsOfAClientHaveTheCookiesOfItsConfiguration() async throws {
        let client = try await client(configuration)
        _ = try await client.data(for: server.request("/first"))
        _ = try await client.data(for: server.request("/second"))
        #expect(sent[0] == "application=own")
        #expect(sent[1].map { Set($0.components(separatedBy: "; ")) } == ["application=own", "first=set"])
        #expect(kept == ["application", "first", "second"])
    }

    @Test func aClientWhoseConfigurationHasNoCookiesSendsAndKeepsNone() async throws {
        let storage = configuration.httpCookieStorage
        configuration.httpCookieStorage = nil
        let client = try await client(configuration)
        for path in ["/first", "/second"] { _ = try await client.data(for: server.request(path)) }
        #expect(sent == [nil, nil])
        #expect(storage?.cookies?.map(\.name) == ["application"])
    }

    /// A cookie that the request had when it was added may be another user's.
    @Test func aQueuedRequestHasTheCookiesOfTheMomentWhenItIsSent() async throws {
        let queue = OfflineQueue(client: try await client(configuration))
        var request = try server.request("/queued", method: "POST")
        request.setValue("application=earlier", forHTTPHeaderField: "Cookie")
        try await queue.add(request)
        #expect(try await queue.send { _, _ in } == 1)
        #expect(sent == ["application=own"])
    }
}
