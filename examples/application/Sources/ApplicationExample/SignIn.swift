import Foundation
import FoundationNetworking
import TokenKeep
import TokenKeepFoundation

extension ApplicationExample {
    static func manager(_ api: URL) -> SessionManager<User> {
        var options = SessionManagerOptions()
        options.session.clientID = "example"
        options.session.transport = TokenEndpoints(token: api.appending(path: "token")).transport()
        options.origins = [api]
        return SessionManager(service: "api.example.com", options: options)
    }

    /// A sign-in, a request and a logout. The server refuses the first token: it is renewed, and the request repeated.
    static func signIn(at api: URL) async throws {
        let manager = manager(api)
        try await manager.restore()
        try await manager.login {
            // The application asks its server here, with the password that its view has.
            try SignIn(
                account: "ann", accessToken: "first", refreshToken: "r1", expiresIn: .seconds(3600),
                user: User(name: "Ann"))
        }
        print("signed in: \(manager.currentUser?.name ?? "nobody")")
        let user: User? = try await manager.client?.request(URLRequest(url: api.appending(path: "me")))
        print("the server says: \(user?.name ?? "nothing")")
        try await manager.logout(isLocalOnly: true)
        print("signed in: \(manager.isAuthenticated)")
    }
}
