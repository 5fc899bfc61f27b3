import Foundation
import TokenKeep
import TokenKeepFoundation

/// Reads news from a WebSocket whose server ends tokens. Usage: WebSocketExample ORIGIN
@main
struct WebSocketExample {
    static func main() async throws {
        guard let origin = CommandLine.arguments.dropFirst().first, let url = URL(string: origin), let host = url.host()
        else { return print("usage: … ORIGIN") }
        var options = TokenSession.Options()
        options.clientID = "example"
        options.transport = TokenEndpoints(token: url.appending(path: "token")).transport()
        let session = try await TokenSession(
            store: TokenStore(), service: "api.example.com", account: "ann", options: options)
        // A sign-in of the application's own: the server's token response.
        let response = #"{"access_token":"old","refresh_token":"r0","expires_in":3600}"#
        try await session.begin(.user, response: TokenStore.Secret(response))

        let socket = Socket(host: host, port: url.port ?? 80, path: "/news")
        let news = ReconnectingStream<String>(session) { token, messages in
            try await socket.readTexts(token) { try await messages.send($0) }
        }
        for try await text in news {
            print(text)
            if text == "that is all" { break }
        }
        try await session.end(isLocalOnly: true)
    }
}
