public import Foundation

/// Stores items of one type, each under an identifier. An application may implement its own container.
///
/// The methods of a container may be synchronous, and need not throw.
public protocol SessionContainer<Item>: Sendable {
    /// The type of the items.
    associatedtype Item: Codable & Sendable

    /// Whether the container has an item with the identifier.
    ///
    /// - Throws: an error if the container cannot determine this, for example because the keyring is locked.
    func hasItem(forIdentifier identifier: String) async throws -> Bool
    /// The item with the identifier; nil only if the container certainly has no such item.
    ///
    /// - Throws: an error if the item cannot be read or decoded.
    func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item?
    /// Removes the item with the identifier. Removing a missing item is not an error.
    ///
    /// - Throws: an error if the item may still be stored.
    func removeItem(forIdentifier identifier: String) async throws
    /// Stores the item, and replaces an earlier item with the same identifier.
    ///
    /// - Throws: an error if the item was not stored. An earlier item is then unchanged.
    func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws

    /// The error that ended the last session; nil if no error ended it.
    ///
    /// By default a container stores no errors and returns nil.
    func logoutError(forIdentifier identifier: String) async throws -> LogoutError?
    /// Stores the error that ended a session; nil removes an earlier error.
    ///
    /// By default a container stores no errors and does nothing.
    func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws
}

extension SessionContainer {
    /// Returns nil: by default, a container stores no errors. Throws nothing.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? { nil }
    /// Does nothing: by default, a container stores no errors. Throws nothing.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {}
}

/// The description of an error that ended a session, stored for the next start of the application.
public struct LogoutError: Error, Codable, Sendable, Equatable {
    /// The name of the error's type, for example `URLError`.
    public let type: String
    /// The error's localized description.
    public let message: String

    /// Describes an error. A `LogoutError` is copied unchanged.
    public init(_ error: any Error) {
        if let error = error as? LogoutError {
            self = error
        } else {
            type = String(describing: Swift.type(of: error))
            message = error.localizedDescription
        }
    }
}

extension LogoutError: LocalizedError {
    /// The message of the original error.
    public var errorDescription: String? { message }
}
