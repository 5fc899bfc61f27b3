import Foundation
import Testing
import TokenKeep
import TokenKeepFoundation

struct Model: Codable, Sendable, Equatable {
    let firstName: String
    let lastName: String
    let email: String
    let token: String
}

/// A container of the application's own: its methods are synchronous.
private actor Shelf {
    var items: [String: Data] = [:]
    func set(_ data: Data?, _ identifier: String) { items[identifier] = data }
}

private struct MyStorageContainer: SessionContainer {
    private let shelf = Shelf()

    func hasItem(forIdentifier identifier: String) async -> Bool { await shelf.items[identifier] != nil }

    func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Model? {
        try await shelf.items[identifier].map { try jsonDecoder.decode(Model.self, from: $0) }
    }

    func removeItem(forIdentifier identifier: String) async { await shelf.set(nil, identifier) }

    func storeItem(_ item: Model, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws {
        await shelf.set(try jsonEncoder.encode(item), identifier)
    }
}

/// A session that can be refreshed.
private final class ModelSession: Session<Model>, Refreshable, @unchecked Sendable {
    func refresh() async throws {
        guard let model = try await item else { return }
        try await storeItem(
            Model(firstName: model.firstName, lastName: model.lastName, email: model.email, token: "fresh"))
    }
}

/// docs/applications.md, "A user in a container".
@Suite struct UserSessionExample {
    private let world = FoundationWorld()
    private let model = Model(firstName: "Ann", lastName: "Lee", email: "ann@example.com", token: "t1")

    @Test func aSessionInAContainerOfItsOwn() async throws {
        let anyContainer = AnySessionContainer(MyStorageContainer())
        let session = ModelSession(container: anyContainer, storageIdentifier: "identifier.for.your.model.object")
        try await session.storeItem(model)
        try await session.refresh()
        #expect(try await session.item?.token == "fresh")
        try await session.deleteItem()
        #expect(try await session.item == nil)
    }

    @Test func logInUpdateAndLogOut() async throws {
        let installationIdentifier = "7d5a"
        let container = StoreSessionContainer<Model>(
            store: try world.store(), service: "com.app.name",
            lifecycle: .currentInstall(identifier: installationIdentifier))
        let userSession = UserSession<Model>(
            container: AnySessionContainer(container), storageIdentifier: "identifier.for.your.model.object",
            refreshHandler: { model in
                Model(firstName: model.firstName, lastName: model.lastName, email: model.email, token: "t2")
            })
        let events = userSession.events
        let seen = Task {
            var seen: [String] = []
            for await event in events {
                switch event {
                case .loggedIn: seen.append("in")
                case .updated: seen.append("updated")
                case .loggedOut(let error):
                    seen.append("out \(error?.message ?? "")")
                    return seen
                }
            }
            return seen
        }

        try await userSession.didLogIn(model)
        #expect(try await userSession.isLoggedIn)
        #expect(try await userSession.currentUser == model)
        try await userSession.didUpdate(model)
        try await userSession.refresh()
        #expect(try await userSession.currentUser?.token == "t2")
        try await userSession.didLogOut(nil)

        #expect(await seen.value == ["in", "updated", "updated", "out "])
    }
}
