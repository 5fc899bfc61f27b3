public import Foundation

/// A container of any type.
public struct AnySessionContainer<Item: Codable & Sendable>: SessionContainer {
    private let container: any SessionContainer<Item>

    /// Wraps a container.
    public init(_ container: some SessionContainer<Item>) { self.container = container }

    /// Whether the container has an item.
    public func hasItem(forIdentifier identifier: String) async throws -> Bool {
        try await container.hasItem(forIdentifier: identifier)
    }

    /// The container's item.
    public func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item? {
        try await container.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    }

    /// Removes the container's item.
    public func removeItem(forIdentifier identifier: String) async throws {
        try await container.removeItem(forIdentifier: identifier)
    }

    /// Stores an item in the container.
    public func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws {
        try await container.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
    }

    /// The error that the container keeps.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? {
        try await container.logoutError(forIdentifier: identifier)
    }

    /// Keeps an error in the container.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {
        try await container.setLogoutError(error, forIdentifier: identifier)
    }
}
