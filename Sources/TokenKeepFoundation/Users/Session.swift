public import Foundation

/// A value of the application that is stored in a container. The class may be subclassed.
///
/// ```swift
/// let container = AnySessionContainer(StoreSessionContainer<Model>(service: "com.example.app"))
/// let session = Session<Model>(container: container, storageIdentifier: "model")
/// ```
///
/// A subclass must also declare `@unchecked Sendable`, and protect its own state against concurrent access.
open class Session<Value: Codable & Sendable>: @unchecked Sendable {
    /// The type of the value.
    public typealias Item = Value

    /// The container of the value.
    public let container: AnySessionContainer<Value>
    /// The identifier of the value in the container.
    public let storageIdentifier: String
    private let jsonDecoder: JSONDecoder
    private let jsonEncoder: JSONEncoder

    /// Makes a session. Does not read the container.
    public init(
        container: AnySessionContainer<Value>, storageIdentifier: String, jsonDecoder: JSONDecoder = JSONDecoder(),
        jsonEncoder: JSONEncoder = JSONEncoder()
    ) {
        self.container = container
        self.storageIdentifier = storageIdentifier
        self.jsonDecoder = jsonDecoder
        self.jsonEncoder = jsonEncoder
    }

    /// The value; nil if the container has no value.
    ///
    /// - Throws: the container's error. A ``StoreSessionContainer`` throws `TokenKeepError` with `locked`,
    ///   `unavailable`, `corrupt` or another status.
    public var item: Value? {
        get async throws { try await container.item(forIdentifier: storageIdentifier, jsonDecoder: jsonDecoder) }
    }

    /// Stores the value, and replaces an earlier value.
    ///
    /// - Throws: the container's error.
    public func storeItem(_ item: Value) async throws {
        try await container.storeItem(item, forIdentifier: storageIdentifier, jsonEncoder: jsonEncoder)
    }

    /// Deletes the value.
    ///
    /// - Throws: the container's error.
    public func deleteItem() async throws { try await container.removeItem(forIdentifier: storageIdentifier) }
}

/// An object that can be refreshed, for example a session whose value expires.
public protocol Refreshable {
    /// Refreshes this object. For example, a session replaces its expiring value by a new value.
    ///
    /// - Throws: an error if the object could not be refreshed. The object is then unchanged.
    func refresh() async throws
}
