import Foundation
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Values of applications in containers.
@Suite struct UserSessionTests {
    private let world = FoundationWorld()

    struct Model: Codable, Sendable, Equatable {
        var firstName = "Ann"
        var token = "t1"
    }

    private func containers() throws -> [AnySessionContainer<Model>] {
        [
            AnySessionContainer(MemorySessionContainer<Model>()),
            AnySessionContainer(StoreSessionContainer<Model>(store: try world.store(), service: "com.example.app")),
        ]
    }

    private func users(
        _ handler: UserSession<Model>.RefreshHandler? = nil
    ) throws -> UserSession<Model> {
        let container = StoreSessionContainer<Model>(store: try world.store(), service: "com.example.app")
        return UserSession(
            container: AnySessionContainer(container), storageIdentifier: "user",
            needsRefresh: { $0.token == "old" }, refreshHandler: handler)
    }

    @Test func everyContainerKeepsItemsByIdentifier() async throws {
        for container in try containers() {
            let one = Session<Model>(container: container, storageIdentifier: "one")
            let two = Session<Model>(container: container, storageIdentifier: "two")
            #expect(try await one.item == nil)
            try await one.storeItem(Model())
            #expect(try await one.item == Model())
            #expect(try await two.item == nil)
            #expect(try await container.hasItem(forIdentifier: "one"))
            try await one.deleteItem()
            try await one.deleteItem()
            #expect(try await !container.hasItem(forIdentifier: "one"))
        }
    }

    @Test func theCodersAreTheApplications() async throws {
        let (decoder, encoder) = (JSONDecoder(), JSONEncoder())
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let store = try world.store()
        let container = StoreSessionContainer<Model>(store: store, service: "com.example.app")
        let session = Session<Model>(
            container: AnySessionContainer(container), storageIdentifier: "one", jsonDecoder: decoder,
            jsonEncoder: encoder)
        try await session.storeItem(Model())
        let secret = try await store.load(service: "com.example.app", account: "one").secret
        #expect(secret.utf8String?.contains("first_name") == true)
        #expect(try await session.item == Model())
    }

    @Test func anotherInstallationFindsNothingAndTheFirstOneStill() async throws {
        let store = try world.store()
        func session(_ lifecycle: StoreSessionContainer<Model>.Lifecycle) -> Session<Model> {
            let container = StoreSessionContainer<Model>(store: store, service: "com.example.app", lifecycle: lifecycle)
            return Session(container: AnySessionContainer(container), storageIdentifier: "one")
        }
        try await session(.currentInstall(identifier: "i1")).storeItem(Model())
        #expect(try await session(.currentInstall(identifier: "i2")).item == nil)
        #expect(try await session(.unmanaged).item == nil)
        #expect(try await session(.currentInstall(identifier: "i1")).item == Model())
    }

    @Test func aLockedVaultIsNoLogout() async throws {
        let users = try users()
        try await users.didLogIn(Model())
        try world.setPassword("horse")
        try await world.store().lock()
        await expect(.locked) { try await users.isLoggedIn }
        await expect(.locked) { try await users.currentUser }
        try await world.store().unlock(password: .init("horse"))
        #expect(try await users.isLoggedIn)
    }

    @Test func eventsAreTheChangesAlone() async throws {
        let users = try users()
        try await users.didLogIn(Model())
        var events = users.events.makeAsyncIterator()
        try await users.didUpdate(Model(token: "t2"))
        try await users.didLogOut(URLError(.userAuthenticationRequired))
        try await users.didLogIn(Model())
        guard case .updated? = await events.next() else { throw Missing("no update") }
        guard case .loggedOut(let error)? = await events.next() else { throw Missing("no logout") }
        #expect(error?.type == "URLError")
        guard case .loggedIn? = await events.next() else { throw Missing("no login") }
    }

    @Test func theErrorOfALogoutSurvivesARestart() async throws {
        try await users().didLogIn(Model())
        #expect(try await users().logoutError == nil)
        try await users().didLogOut(APIError.unauthorized)
        let kept = try await users().logoutError
        #expect(kept?.message == "Your session has expired. Please sign in again.")
        #expect(try await users().currentUser == nil)
        try await users().didLogIn(Model())
        #expect(try await users().logoutError == nil)
        try await users().didLogOut()
        #expect(try await users().logoutError == nil)
    }

    @Test func refreshesGoByThePolicy() async throws {
        let calls = Guarded(0)
        let users = try users { _ in
            calls.withLock { $0 += 1 }
            return Model(token: "new")
        }
        await #expect(throws: UserSession<Model>.RefreshError.noUser) { try await users.refresh() }
        #expect(calls.withLock { $0 } == 0)
        try await users.didLogIn(Model(token: "t1"))
        #expect(try await users.currentUser(refreshing: .never)?.token == "t1")
        #expect(try await users.currentUser(refreshing: .ifNeeded)?.token == "t1")
        #expect(calls.withLock { $0 } == 0)
        try await users.didUpdate(Model(token: "old"))
        #expect(try await users.currentUser(refreshing: .ifNeeded)?.token == "new")
        #expect(try await users.currentUser(refreshing: .always)?.token == "new")
        #expect(calls.withLock { $0 } == 2)
        #expect(try await users.currentUser?.token == "new")
    }

    @Test func callsAtOnceShareOneRefresh() async throws {
        let calls = Guarded(0)
        let gate = Gate()
        let users = try users { _ in
            calls.withLock { $0 += 1 }
            await gate.wait(for: 1)
            return Model(token: "new")
        }
        try await users.didLogIn(Model(token: "old"))
        // The handler waits for the gate, which a thread passes after all calls have begun.
        let tasks = (0..<20).map { _ in users.sharedRefresh() }
        Thread.detachNewThread { gate.pass() }
        for task in tasks { _ = try await task.value }
        gate.open()
        #expect(calls.withLock { $0 } == 1)
        #expect(try await users.currentUser?.token == "new")
    }

    @Test func aLogoutDuringARefreshWins() async throws {
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let (gate, opens) = AsyncStream.makeStream(of: Void.self)
        let users = try users { _ in
            begins.yield()
            for await _ in gate { break }
            return Model(token: "new")
        }
        try await users.didLogIn(Model(token: "old"))
        let refresh = Task { try await users.refresh() }
        for await _ in begun { break }
        try await users.didLogOut()
        opens.yield()
        await #expect(throws: (any Error).self) { try await refresh.value }
        #expect(try await users.currentUser == nil)
    }
}
