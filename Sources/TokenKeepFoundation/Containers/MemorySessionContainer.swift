public import Foundation

/// A container that keeps items in memory, for tests and previews. Copies of the container share the same items.
public struct MemorySessionContainer<Item: Codable & Sendable>: SessionContainer {
    private struct State {
        var items: [String: Data] = [:]
        var errors: [String: LogoutError] = [:]
    }

    private let state = Guarded(State())

    /// Makes an empty container.
    public init() {}

    /// Whether the container has an item with the identifier.
    public func hasItem(forIdentifier identifier: String) -> Bool { state.withLock { $0.items[identifier] != nil } }

    /// The item with the identifier; nil if the container has no such item.
    ///
    /// - Throws: the `DecodingError` of `jsonDecoder` if the item is not JSON of the type `Item`.
    public func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Item? {
        let data = state.withLock { $0.items[identifier] }
        return try data.map { try jsonDecoder.decode(Item.self, from: $0) }
    }

    /// Removes the item with the identifier.
    public func removeItem(forIdentifier identifier: String) { state.withLock { $0.items[identifier] = nil } }

    /// Stores the item as JSON.
    ///
    /// - Throws: the `EncodingError` of `jsonEncoder` if the item cannot be encoded.
    public func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) throws {
        let data = try jsonEncoder.encode(item)
        state.withLock { $0.items[identifier] = data }
    }

    /// The error that ended the last session; nil if no error is stored.
    public func logoutError(forIdentifier identifier: String) -> LogoutError? {
        state.withLock { $0.errors[identifier] }
    }

    /// Stores the error that ended a session; nil removes an earlier error.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) {
        state.withLock { $0.errors[identifier] = error }
    }
}
