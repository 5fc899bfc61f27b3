import AsyncHTTPClient
import NIOCore
import TokenKeep

/// Sends requests with the token of a session by async-http-client. Usage: AsyncHTTPClientExample ORIGIN
@main
struct AsyncHTTPClientExample {
    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first else { return print("usage: … ORIGIN") }
        var options = TokenSession.Options()
        options.refreshURL = origin + "/token"
        options.clientID = "example"
        options.transport = renew
        let session = try await TokenSession(
            store: TokenStore(), service: "api.example.com", account: "ann", options: options)
        // A sign-in of the application's own: the server's token response.
        let response = #"{"access_token":"first","refresh_token":"r1","expires_in":3600}"#
        try await session.begin(.user, response: TokenStore.Secret(response))

        let answer = try await HTTPClient.shared.execute(HTTPClientRequest(url: origin + "/me"), with: session)
        print(answer.status.code, String(buffer: try await answer.body.collect(upTo: 1 << 20)))
        try await session.end(isLocalOnly: true)
    }

    /// Asks the server for a new token. The session decides when, once for all tasks and processes.
    @Sendable static func renew(_ request: TokenSession.Request) async throws -> TokenSession.Response {
        guard request.purpose == .refresh, let url = request.url else {
            throw TokenKeepError(.unavailable, "this program only renews tokens")
        }
        var post = HTTPClientRequest(url: url)
        post.method = .POST
        post.headers.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
        post.body = .bytes(request.body.withUnsafeBytes { Array($0) })
        let answer = try await HTTPClient.shared.execute(post, timeout: .seconds(30))
        let body = try await answer.body.collect(upTo: 262_144)
        return TokenSession.Response(
            status: Int(answer.status.code), body: try TokenStore.Secret(bytes: body.readableBytesView))
    }
}

extension HTTPClient {
    /// Sends a request with the session's token, and once more if the server refuses the token.
    func execute(_ request: HTTPClientRequest, with session: TokenSession) async throws -> HTTPClientResponse {
        let token = try await session.token(minTTL: .seconds(60))
        let answer = try await execute(request.authorized(by: token), timeout: .seconds(30))
        guard answer.status.code == 401 else { return answer }
        return try await execute(request.authorized(by: session.rejected(token)), timeout: .seconds(30))
    }
}

extension HTTPClientRequest {
    func authorized(by token: TokenSession.Token) -> HTTPClientRequest {
        var request = self
        request.headers.replaceOrAdd(name: "Authorization", value: "Bearer \(token.value.utf8String ?? "")")
        return request
    }
}
