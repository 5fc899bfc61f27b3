import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Requests with a session's token, against servers on this machine.
@Suite(.timeLimit(.minutes(20))) struct SessionClientTests {
    private let world = FoundationWorld()

    /// Accepts one token.
    private func server(accepting token: String = "access-1") throws -> LoopbackServer {
        try LoopbackServer { request in
            .init(status: request.headers["authorization"] == "Bearer \(token)" ? 200 : 401)
        }
    }

    /// Sends a hundred requests at once.
    private func statuses(of client: SessionClient, _ server: LoopbackServer) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<100 {
                group.addTask { try await client.data(for: server.request("/\(number)")).1.statusCode }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func theTokenGoesToAllowedOriginsAlone() async throws {
        let (allowed, other) = (try LoopbackServer { _ in .init() }, try LoopbackServer { _ in .init() })
        let client = try world.client(await world.signedIn(), allowed)
        _ = try await client.data(for: allowed.request("/"))
        _ = try await client.data(for: other.request("/"))
        #expect(allowed.tokens == ["Bearer access-1"])
        #expect(other.tokens == [nil])
    }

    @Test func anOriginWithoutEncryptionIsRefused() async throws {
        let client = try world.client(await world.signedIn(), server())
        for origin in [
            "http://api.example.com", "ftp://127.0.0.1", "api.example.com", "", "http://127.0.0.1.example.com",
        ] {
            #expect(throws: APIError.invalidURL) { try client.allow(origin: origin) }
        }
        try client.allow(origin: "https://api.example.com/v1")
        func isAllowed(_ address: String) throws -> Bool {
            client.isAllowed(try #require(HTTPOrigin(URL(string: address))))
        }
        #expect(try isAllowed("https://API.example.com:443/v2"))
        #expect(try !isAllowed("https://api.example.com:8443/v1"))
        #expect(try !isAllowed("http://api.example.com/v1"))
        #expect(try !isAllowed("https://api.example.com@evil.example/"))
    }

    @Test func theTokenCrossesNoRedirectToAnotherOrigin() async throws {
        let target = try LoopbackServer { _ in .init(body: #"{"at":"target"}"#) }
        let origin = target.origin
        let first = try LoopbackServer { _ in .redirect(307, to: origin + "/there") }
        let client = try world.client(await world.signedIn(), first)
        // Allowed itself, it still gets none from a redirect.
        try client.allow(origin: target.origin)
        var request = try first.request("/here")
        request.setValue("session=1", forHTTPHeaderField: "Cookie")
        let (data, response) = try await client.data(for: request)
        #expect(response.statusCode == 200)
        #expect(String(decoding: data, as: UTF8.self).contains("target"))
        #expect(first.tokens == ["Bearer access-1"])
        #expect(target.tokens == [nil])
        #expect(target.requests.first?.path == "/there")
        #expect(target.requests.first?.headers["cookie"] == nil)
    }

    @Test func aRefusalByAServerThatGotNoTokenAsksForNoSignIn() async throws {
        let foreign = try LoopbackServer { _ in .init(status: 401) }
        let origin = foreign.origin
        let first = try LoopbackServer { _ in .redirect(307, to: origin + "/there") }
        let client = try world.client(await world.signedIn(), first)
        for server in [first, foreign] {
            await #expect(throws: APIError.serverError(statusCode: 401)) {
                try await client.request(server.request("/here"), as: String.self)
            }
        }
        let refusing = try LoopbackServer { _ in .init(status: 401) }
        try client.allow(origin: refusing.origin)
        await #expect(throws: APIError.authenticationRequired) {
            try await client.request(refusing.request("/here"), as: String.self)
        }
    }

    @Test func aRedirectWithinTheOriginKeepsTheToken() async throws {
        let server = try LoopbackServer { request in
            request.path == "/old" ? .redirect(302, to: "/new?x=1") : .init()
        }
        let client = try world.client(await world.signedIn(), server)
        var request = try server.request("/old", method: "POST")
        request.httpBody = Data("{}".utf8)
        let (_, response) = try await client.data(for: request)
        #expect(response.statusCode == 200)
        #expect(server.requests.map(\.method) == ["POST", "GET"])
        #expect(server.requests.map(\.path) == ["/old", "/new?x=1"])
        #expect(server.tokens == ["Bearer access-1", "Bearer access-1"])
    }

    @Test func anEndlessRedirectEnds() async throws {
        let server = try LoopbackServer { _ in .redirect(302, to: "/again") }
        let client = try world.client(await world.signedIn(), server)
        await #expect(throws: URLError.self) { try await client.data(for: server.request("/")) }
        #expect(server.requests.count == 21)
    }

    @Test func aRefusedTokenIsRenewedAndTheRequestRepeatedOnce() async throws {
        let server = try server(accepting: "access-2")
        let client = try world.client(await world.signedIn(), server)
        var request = try server.request("/", method: "POST")
        request.httpBody = Data("order".utf8)
        let (_, response) = try await client.data(for: request)
        #expect(response.statusCode == 200)
        #expect(server.tokens == ["Bearer access-1", "Bearer access-2"])
        #expect(server.requests.map(\.body) == ["order", "order"])
        #expect(await world.authority.refreshed == ["refresh-1"])
    }

    /// Foundation answers such a challenge with a password that it does not have, and waits for ever.
    @Test(arguments: [#"Basic realm="api""#, #"Digest realm="api", nonce="1", qop="auth""#])
    func aRefusalThatAsksForAPasswordIsOneOfTheToken(_ challenge: String) async throws {
        let server = try LoopbackServer { request in
            let isFresh = request.headers["authorization"] == "Bearer access-2" && request.path == "/"
            return .init(status: isFresh ? 200 : 401, headers: ["WWW-Authenticate": challenge], body: "said")
        }
        let client = try world.client(await world.signedIn(), server)
        #expect(try await client.data(for: server.request("/")).1.statusCode == 200)
        let (body, response) = try await client.data(for: server.request("/closed"))
        #expect(response.statusCode == 401)
        #expect(String(decoding: body, as: UTF8.self) == "said")
        let (bytes, head) = try await client.bytes(for: server.request("/closed"))
        #expect(head.statusCode == 401)
        #expect(try await bytes.reduce(into: Data()) { $0.append($1) } == Data("said".utf8))
    }

    @Test func aTokenThatAnotherProgramRenewedIsSent() async throws {
        let server = try LoopbackServer { _ in .init() }
        let client = try world.client(await world.signedIn(), server)
        _ = try await client.data(for: server.request("/"))
        _ = try await world.session().refresh()
        _ = try await client.data(for: server.request("/"))
        #expect(server.tokens == ["Bearer access-1", "Bearer access-2"])
    }

    @Test func aSecondRefusalIsTheAnswer() async throws {
        let server = try server(accepting: "none")
        let client = try world.client(await world.signedIn(), server)
        var events = client.events.makeAsyncIterator()
        await #expect(throws: APIError.authenticationRequired) {
            try await client.request(server.request("/"), as: [String: String].self)
        }
        #expect(server.requests.count == 2)
        #expect(await events.next() == .authenticationRequired)
    }

    @Test func aStreamedBodyIsSentOnce() async throws {
        let server = try server(accepting: "access-2")
        let client = try world.client(await world.signedIn(), server)
        var request = try server.request("/", method: "PUT")
        request.httpBodyStream = InputStream(data: Data("streamed".utf8))
        let (_, response) = try await client.data(for: request)
        #expect(response.statusCode == 401)
        #expect(server.requests.count == 1)
        #expect(server.requests[0].body.contains("streamed"))
        // The token was renewed for the next request.
        #expect(try await client.data(for: server.request("/")).1.statusCode == 200)
        #expect(server.requests.count == 2)
    }

    @Test func aHundredRequestsHalfOfThemRefusedMakeOneRefresh() async throws {
        // All arrive with the old token before any is answered.
        let gate = Gate(opensAt: 100)
        let server = try LoopbackServer { request in
            guard request.headers["authorization"] == "Bearer access-1" else { return .init() }
            gate.pass()
            let number = Int(request.path.dropFirst()) ?? 0
            return .init(status: number.isMultiple(of: 2) ? 401 : 200)
        }
        let client = try world.client(await world.signedIn(), server, connections: 128)
        let statuses = try await statuses(of: client, server)
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(await world.authority.refreshed == ["refresh-1"])
        let counts = Dictionary(grouping: server.requests, by: \.path).mapValues(\.count)
        #expect(counts.count == 100)
        for (path, count) in counts {
            #expect(count == ((Int(path.dropFirst()) ?? 0).isMultiple(of: 2) ? 2 : 1), "\(path)")
        }
    }

    @Test func aHundredRequestsAtExpiryMakeOneRefresh() async throws {
        let server = try server(accepting: "access-2")
        let client = try world.client(await world.signedIn(lifetime: 0), server, connections: 128)
        let statuses = try await statuses(of: client, server)
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(await world.authority.refreshed == ["refresh-1"])
        #expect(server.requests.count == 100)
    }

    @Test func cancellationsDuringTheRefreshHarmNoOtherRequest() async throws {
        let server = try server(accepting: "access-2")
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        var options = TokenSession.Options()
        options.transport = { [authority = world.authority] request in
            ask.yield()
            for await _ in answers { break }
            return try await authority.answer(request)
        }
        _ = try await world.signedIn(lifetime: 0)
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        let client = try world.client(session, server, connections: 128)
        let tasks = (0..<100).map { number in
            Task { try await client.data(for: server.request("/\(number)")).1.statusCode }
        }
        for await _ in asked { break }
        // The token is being renewed by one of them.
        for task in tasks[..<50] { task.cancel() }
        answer.yield()
        for task in tasks[..<50] { await #expect(throws: CancellationError.self) { try await task.value } }
        for task in tasks[50...] { #expect(try await task.value == 200) }
        #expect(await world.authority.refreshed == ["refresh-1"])
        #expect(server.requests.count == 50)
    }

    @Test func theCancellationOfOneHarmsNoOther() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        let client = try world.client(await world.signedIn(), server, connections: 16)
        let tasks = (0..<10).map { number in
            Task { try await client.data(for: server.request("/\(number)")).1.statusCode }
        }
        await gate.wait(for: 10)
        tasks[3].cancel()
        // It ends while the server is silent.
        await #expect(throws: CancellationError.self) { try await tasks[3].value }
        gate.open()
        for (number, task) in tasks.enumerated() where number != 3 { #expect(try await task.value == 200) }
    }

    @Test func aLogoutEndsAllRequestsWithinTheCall() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let session = try await world.signedIn()
        let client = try world.client(session, server, connections: 32)
        let tasks = (0..<20).map { number in Task { try await client.data(for: server.request("/\(number)")) } }
        await gate.wait(for: 20)
        try await session.end()
        // The server is silent still.
        for task in tasks { await #expect(throws: APIError.authenticationRequired) { try await task.value } }
        var events = client.events.makeAsyncIterator()
        await #expect(throws: APIError.authenticationRequired) { try await client.data(for: server.request("/")) }
        #expect(await events.next() == .authenticationRequired)
        #expect(server.requests.count == 20)
    }

    @Test func aLogoutByAnotherProgramEndsAllRequests() async throws {
        let gate = Gate()
        let server = try LoopbackServer.behind(gate)
        defer { gate.open() }
        let client = try world.client(await world.signedIn(), server, connections: 32)
        let tasks = (0..<20).map { number in Task { try await client.data(for: server.request("/\(number)")) } }
        await gate.wait(for: 20)
        try await world.session().end()
        // The server is silent still.
        for task in tasks { await #expect(throws: APIError.authenticationRequired) { try await task.value } }
    }

    @Test func aLogoutByAnotherProgramEndsABodyThatIsRead() async throws {
        let server = try LoopbackServer { _ in .init(headers: ["Content-Length": "100"], body: "begun", stays: true) }
        let client = try world.client(await world.signedIn(), server)
        let (bytes, _) = try await client.bytes(for: server.request("/"))
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "b"))
        try await world.session().end()
        await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
    }

    @Test func aSessionThatTheServerEndsIsUnauthorized() async throws {
        let server = try server(accepting: "none")
        await world.authority.become(.refuses)
        let client = try world.client(await world.signedIn(), server)
        var events = client.events.makeAsyncIterator()
        await #expect(throws: APIError.unauthorized) { try await client.data(for: server.request("/")) }
        #expect(await events.next() == .sessionExpired)
        #expect(server.requests.count == 1)
    }

    @Test func anOutageOfTheAuthoritySignsNobodyOut() async throws {
        let server = try server(accepting: "access-2")
        await world.authority.become(.isAway)
        let session = try await world.signedIn()
        let client = try world.client(session, server)
        await expect(.unavailable) { try await client.data(for: server.request("/")) }
        #expect(try await session.state == .user)
        await world.authority.become(.answers)
        #expect(try await client.data(for: server.request("/")).1.statusCode == 200)
    }
}
