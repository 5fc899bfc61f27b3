import Foundation
import TestSupport
import Testing
import TokenKeep

/// Sessions as a Swift application uses them.
@Suite struct TokenSessionTests {
    private let directory = TemporaryDirectory()

    private func open() throws -> TokenStore {
        try TokenStore(.init(stackText: "any required vault"), vaultPath: directory.path + "/vault")
    }

    /// A server that rotates refresh tokens.
    private actor Server {
        var number = 1
        var requests: [String] = []
        var revoked: [String] = []

        func answer(_ request: TokenSession.Request) throws -> TokenSession.Response {
            let token = request.token.utf8String ?? ""
            guard request.purpose == .refresh else {
                revoked.append(token)
                return TokenSession.Response(status: 200, body: try .init(""))
            }
            requests.append(token)
            guard token == "refresh-\(number)" else {
                return TokenSession.Response(status: 400, body: try .init(#"{"error":"invalid_grant"}"#))
            }
            number += 1
            return TokenSession.Response(status: 200, body: try .init(Self.tokens(number, 3600)))
        }

        static func tokens(_ number: Int, _ lifetime: Int) -> String {
            #"{"access_token":"access-\#(number)","expires_in":\#(lifetime),"refresh_token":"refresh-\#(number)"}"#
        }
    }

    private func options(_ server: Server) -> TokenSession.Options {
        var options = TokenSession.Options()
        options.transport = { try await server.answer($0) }
        return options
    }

    @Test func manyTasksGetOneNewToken() async throws {
        let (store, server) = (try open(), Server())
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options(server))
        try await session.begin(.user, response: .init(Server.tokens(1, 0)))
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<32 { group.addTask { try await session.token().value.utf8String ?? "" } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(texts == ["access-2"])
        #expect(await server.requests == ["refresh-1"])
        let token = try await session.token()
        #expect(try await session.rejected(token).value.utf8String == "access-3")
        #expect(try await session.rejected(token).value.utf8String == "access-3")
        #expect(await server.requests.count == 2)
    }

    @Test func withoutATransportTheProvidersFileCountsAndAFileThatIsGoneIsNamed() async throws {
        let store = try open()
        var options = TokenSession.Options()
        options.provider = "gone-from-here"
        let first = try await TokenSession(store: store, service: "api.example.com", account: "ann", options: options)
        try await first.begin(.user, response: .init(Server.tokens(1, 0)))
        let session = try await TokenSession(store: store, service: "api.example.com", account: "ann")
        let message =
            "there is no file of the provider gone-from-here, which the session of api.example.com (ann) names"
        await expect(.unsupported, message) { _ = try await session.token() }
    }

    @Test func aNegativeLifetimeIsInvalid() async throws {
        let session = try await TokenSession(store: open(), service: "s", account: "a", options: options(Server()))
        await expect(.invalid, "expires_in is negative") {
            try await session.hydrate(accessToken: .init("a"), refreshToken: .init("r"), expiresIn: .seconds(-1))
        }
    }

    @Test func accountsAndLogout() async throws {
        let (store, server) = (try open(), Server())
        let service = "api.example.com"
        let ann = try await TokenSession(store: store, service: service, account: "ann", options: options(server))
        let bob = try await TokenSession(store: store, service: service, account: "bob", options: options(server))
        try await ann.begin(.user, response: .init(Server.tokens(1, 3600)))
        try await bob.begin(.guest, response: .init(#"{"access_token":"visit"}"#))
        let sessions = TokenSessions(store: store)
        #expect(try await sessions.active(of: service) == "ann")
        #expect(try await sessions.list(service: service).sessions.map(\.state) == [.user, .guest])
        try await sessions.makeActive(service: service, account: "bob")
        #expect(try await TokenSession(store: store, service: service).account == "bob")
        let left = try #require(try await bob.token().timeLeft)
        #expect(left > .zero && left <= .seconds(900))
        ann.onEnd("caches", order: 1) { account, reason in
            #expect(account == "ann")
            #expect(reason == .logout)
        }
        ann.onEnd("fails", order: 2) { _, _ in throw CancellationError() }
        let report = try await ann.end()
        #expect(report.revocation == .done)
        #expect(report.failedHooks == ["fails"])
        #expect(await server.revoked == ["refresh-1"])
        #expect(try await ann.info.state == .signedOut)
        await #expect(throws: TokenKeepError.self) { try await ann.token() }
    }

    @Test func aCancelledTaskThrowsAndTheSessionGoesOn() async throws {
        let (store, server) = (try open(), Server())
        var options = options(server)
        let (arrived, arrives) = AsyncStream.makeStream(of: Void.self)
        let (gate, opens) = AsyncStream.makeStream(of: Void.self)
        options.transport = { request in
            arrives.yield()
            for await _ in gate { break }
            return try await server.answer(request)
        }
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options)
        try await session.begin(.user, response: .init(Server.tokens(1, 0)))
        let task = Task { try await session.token() }
        for await _ in arrived { break }
        task.cancel()
        opens.yield()
        _ = await task.result
        // The answer was saved all the same.
        #expect(try await session.token().value.utf8String == "access-2")
        #expect(await server.requests == ["refresh-1"])
    }

    @Test func statesShowThePresentAndEachChange() async throws {
        let (store, server) = (try open(), Server())
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options(server))
        var states = session.states.makeAsyncIterator()
        #expect(try await states.next()?.state == .signedOut)
        var all = TokenSessions(store: store).changes().makeAsyncIterator()
        try await session.begin(.user, response: .init(Server.tokens(1, 3600)))
        #expect(try await states.next()?.state == .user)
        #expect(try await all.next()?.account == "ann")
        #expect(try await session.state == .user)
        try await session.end()
        #expect(try await states.next()?.reason == .logout)
        let waiting = Task { try await session.states.first { $0.state == .user } }
        waiting.cancel()
        #expect(try await waiting.value == nil)
    }

    @Test func aRunLooksAgainLongBeforeATokenEnds() async throws {
        let (store, server) = (try open(), Server())
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options(server))
        try await session.begin(.user, response: .init(Server.tokens(1, 86_400)))
        let running = Task { try await session.run(lookingAgainAfter: 10) }
        let other = try await TokenSession(store: open(), service: "api.example.com", account: "ann")
        try await other.end(isLocalOnly: true)
        #expect(try await running.value == .logout)
    }

    @Test func aRunEndsWithTheSessionOrTheTask() async throws {
        let (store, server) = (try open(), Server())
        let session = try await TokenSession(
            store: store, service: "api.example.com", account: "ann", options: options(server))
        #expect(try await session.run() == .none, "nobody is signed in")
        try await session.begin(.user, response: .init(Server.tokens(1, 0)))
        let running = Task { try await session.run() }
        for try await info in session.states where info.expiresAt.map({ $0 > .now }) == true { break }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(await server.requests == ["refresh-1"])
        #expect(try await TokenSessions(store: store).deviceID().count == 36)
    }
}
