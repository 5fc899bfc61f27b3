public import Foundation

/// A wrapper that hides the type of a container.
public struct AnySessionContainer<Item: Codable & Sendable>: SessionContainer {
    private let container: any SessionContainer<Item>

    /// Wraps a container.
    public init(_ container: some SessionContainer<Item>) { self.container = container }

    /// Whether the container has an item with the identifier. Throws the error of the wrapped container.
    public func hasItem(forIdentifier identifier: String) async throws -> Bool {
        try await container.hasItem(forIdentifier: identifier)
    }

    /// The item with the identifier; nil if the container has no such item. Throws the error of the wrapped container.
    public func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item? {
        try await container.item(forIdentifier: identifier, jsonDecoder: jsonDecoder)
    }

    /// Removes the item with the identifier. Throws the error of the wrapped container.
    public func removeItem(forIdentifier identifier: String) async throws {
        try await container.removeItem(forIdentifier: identifier)
    }

    /// Stores an item under the identifier. Throws the error of the wrapped container.
    public func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws {
        try await container.storeItem(item, forIdentifier: identifier, jsonEncoder: jsonEncoder)
    }

    /// The stored error that ended the last session; nil if none is stored. Throws the error of the wrapped container.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? {
        try await container.logoutError(forIdentifier: identifier)
    }

    /// Stores the error that ended a session; nil removes an earlier error. Throws the error of the wrapped container.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {
        try await container.setLogoutError(error, forIdentifier: identifier)
    }
}
