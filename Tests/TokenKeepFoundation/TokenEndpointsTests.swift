import Foundation
import FoundationNetworking
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// The requests about tokens over URLSession.
@Suite(.timeLimit(.minutes(20))) struct TokenEndpointsTests {
    private let world = FoundationWorld()

    func session(_ server: LoopbackServer, answerLimit: UInt32 = 30_000) async throws -> TokenSession {
        func address(_ path: String) throws -> URL { try #require(URL(string: server.origin + path)) }
        var options = TokenSession.Options()
        options.clientID = "my-app"
        options.answerLimit = answerLimit
        options.transport = try TokenEndpoints(
            token: address("/token"), revocation: address("/revoke"), validation: address("/me"),
            sessionExtension: address("/extend")
        ).transport(URLSession(configuration: .ephemeral))
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        return session
    }

    @Test func eachPurposeHasItsRequest() async throws {
        let server = try LoopbackServer { request in
            switch request.path {
            case "/token": .init(body: Authority.tokens(2, 3600))
            case "/extend": .init(body: #"{"expires_in":7200}"#)
            default: .init()
            }
        }
        let session = try await session(server)
        #expect(try await session.refresh().value.utf8String == "access-2")
        try await session.validate()
        try await session.extend(by: .seconds(600))
        #expect(try await session.end().revocation == .done)
        #expect(server.requests.map(\.path) == ["/token", "/me", "/extend", "/revoke"])
        #expect(server.requests.map(\.method) == ["POST", "GET", "POST", "POST"])
        #expect(server.tokens == [nil, "Bearer access-2", "Bearer access-2", nil])
        #expect(server.requests[0].body == "grant_type=refresh_token&refresh_token=refresh-1&client_id=my-app")
        #expect(server.requests[0].headers["content-type"] == "application/x-www-form-urlencoded")
        #expect(server.requests[2].body == "seconds=600")
        #expect(server.requests[3].body.contains("token=refresh-2"))
    }

    @Test func aRefreshTokenFollowsNoRedirect() async throws {
        let other = try LoopbackServer { _ in .init(body: Authority.tokens(2, 3600)) }
        let origin = other.origin
        let server = try LoopbackServer { _ in .redirect(307, to: origin + "/token") }
        let session = try await session(server)
        await expect(.unavailable) { try await session.refresh() }
        #expect(other.requests.isEmpty)
        #expect(server.requests.count == 1)
        #expect(try await session.state == .user)
    }

    @Test func aLostAnswerIsNotAskedForAgainWithinTheCall() async throws {
        let server = try LoopbackServer { _ in .lost }
        let session = try await session(server)
        await expect(.unavailable) { try await session.refresh() }
        #expect(server.requests.count == 1)
        #expect(try await session.state == .user)
    }

    @Test func aTooLongAnswerIsUnknown() async throws {
        let long = String(repeating: " ", count: 300_000) + Authority.tokens(2, 3600)
        let server = try LoopbackServer { _ in .init(body: long) }
        let session = try await session(server)
        await expect(.unavailable) { try await session.refresh() }
        #expect(server.requests.count == 1)
    }

    @Test func aRefusedConnectionIsAnOutageThatWasNotSent() async throws {
        let endpoints = TokenEndpoints(token: try #require(URL(string: "http://127.0.0.1:1/token")))
        let transport = endpoints.transport(URLSession(configuration: .ephemeral))
        let asked = Guarded<[any Error]>([])
        var options = TokenSession.Options()
        options.transport = { request in
            do {
                return try await transport(request)
            } catch {
                asked.withLock { $0.append(error) }
                throw error
            }
        }
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        await expect(.unavailable) { try await session.refresh() }
        let errors = asked.withLock { $0 }
        #expect(!errors.isEmpty)
        #expect(errors.allSatisfy { ($0 as? TokenKeepError)?.status == .unavailable })
    }

    @Test func anAddressWithoutEncryptionIsNotAsked() async throws {
        let endpoints = TokenEndpoints(token: try #require(URL(string: "http://login.example.com/token")))
        var options = TokenSession.Options()
        options.transport = endpoints.transport(URLSession(configuration: .ephemeral))
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        await expect(.unavailable) { try await session.refresh() }
        #expect(try await session.state == .user)
    }
}
