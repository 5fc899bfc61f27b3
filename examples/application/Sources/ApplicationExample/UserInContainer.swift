import Foundation
import TokenKeep
import TokenKeepFoundation

extension ApplicationExample {
    struct Model: Codable, Sendable {
        let email: String
        let token: String
    }

    /// A user in a container, and the events of its changes.
    static func keepUser() async throws {
        let container = StoreSessionContainer<Model>(
            service: "com.example.app", lifecycle: .currentInstall(identifier: "7d5a"))
        let users = UserSession<Model>(
            container: AnySessionContainer(container), storageIdentifier: "user",
            refreshHandler: { Model(email: $0.email, token: "second") })
        var events = users.events.makeAsyncIterator()

        try await users.didLogIn(Model(email: "ann@example.com", token: "first"))
        try await users.refresh()
        print(
            "\(try await users.currentUser?.email ?? "nobody") has the \(try await users.currentUser?.token ?? "no") token"
        )
        try await users.didLogOut(URLError(.userAuthenticationRequired))
        while let event = await events.next() {
            switch event {
            case .loggedIn: print("logged in")
            case .updated: print("updated")
            case .loggedOut(let error): return print("logged out by \(error?.type ?? "the user")")
            }
        }
    }
}
