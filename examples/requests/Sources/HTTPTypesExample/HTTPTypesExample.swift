import Foundation
import HTTPTypes
import TokenKeep
import TokenKeepFoundation

/// Sends a request of swift-http-types with the token of a session. Usage: HTTPTypesExample ORIGIN
@main
struct HTTPTypesExample {
    struct User: Decodable, Sendable { let name: String }

    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first, let url = URL(string: origin) else {
            return print("usage: … ORIGIN")
        }
        var options = TokenSession.Options()
        options.clientID = "example"
        options.transport = TokenEndpoints(token: url.appending(path: "token")).transport()
        let session = try await TokenSession(
            store: TokenStore(), service: "api.example.com", account: "ann", options: options)
        // A sign-in of the application's own: the server's token response.
        let response = #"{"access_token":"first","refresh_token":"r1","expires_in":3600}"#
        try await session.begin(.user, response: TokenStore.Secret(response))

        let client = SessionClient(session: session)
        try client.allow(origin: url)
        let request = HTTPRequest(
            method: .get, scheme: url.scheme, authority: "\(url.host() ?? ""):\(url.port ?? 80)", path: "/me")
        let (_, answer) = try await client.data(for: request)
        let user: User = try await client.request(request)
        print(answer.status.code, user.name)
        try await session.end(isLocalOnly: true)
    }
}
