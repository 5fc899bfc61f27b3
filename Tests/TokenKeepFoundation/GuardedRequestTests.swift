import Foundation
import FoundationNetworking
import Testing
import TokenKeep
import TokenKeepCore

@testable import TokenKeepFoundation

/// The way of a token from guarded memory to URLSession.
@Suite(.timeLimit(.minutes(20))) struct GuardedRequestTests {
    private let world = FoundationWorld()

    /// Memory outside of it is not wiped.
    @Test func theFormWithARefreshTokenIsGuardedMemory() async throws {
        let endpoints = TokenEndpoints(token: try #require(URL(string: "http://127.0.0.1:1/token")))
        var options = TokenSession.Options()
        options.clientID = "my-app"
        options.transport = { request in
            let body = try #require(endpoints.urlRequest(request).httpBody)
            #expect(body.withUnsafeBytes { $0.baseAddress } == request.body.core.unsafeAddress)
            #expect(String(decoding: body, as: UTF8.self) == request.body.utf8String)
            return TokenSession.Response(status: 200, body: try .init(Authority.tokens(2, 3600)))
        }
        let session = try await TokenSession(
            store: world.store(), service: world.service, account: "ann", options: options)
        try await session.begin(.user, response: .init(Authority.tokens(1, 3600)))
        #expect(try await session.refresh().value.utf8String == "access-2")
    }

    @Test func theAuthorizationOfATokenIsItsText() throws {
        for text in ["", "a", "access-1", String(repeating: "x", count: 5_000)] {
            #expect(try TokenStore.Secret(text).bearer == "Bearer " + text)
        }
    }
}
