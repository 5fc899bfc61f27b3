public import Foundation

/// One value of an application in a container. May be subclassed.
///
/// ```swift
/// let container = AnySessionContainer(StoreSessionContainer<Model>(service: "com.example.app"))
/// let session = Session<Model>(container: container, storageIdentifier: "model")
/// ```
///
/// A subclass restates `@unchecked Sendable`, and protects its own state.
open class Session<Value: Codable & Sendable>: @unchecked Sendable {
    /// The type of the value.
    public typealias Item = Value

    /// The container of the value.
    public let container: AnySessionContainer<Value>
    /// The identifier of the value in the container.
    public let storageIdentifier: String
    private let jsonDecoder: JSONDecoder
    private let jsonEncoder: JSONEncoder

    /// Makes a session. Reads nothing.
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
    /// - Throws: the container's error. Of a ``StoreSessionContainer`` it is `TokenKeepError`: `locked`, `unavailable`,
    ///   `corrupt` and others.
    public var item: Value? {
        get async throws { try await container.item(forIdentifier: storageIdentifier, jsonDecoder: jsonDecoder) }
    }

    /// Stores the value in the place of an earlier one.
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

/// An object that can be refreshed, as a session whose value ends.
public protocol Refreshable {
    /// Refreshes the object.
    ///
    /// - Throws: the reason why the object is as before.
    func refresh() async throws
}
