public import Foundation

/// Keeps items of one type by identifier. An application may write its own.
///
/// The methods of a container may be synchronous, and need not throw.
public protocol SessionContainer<Item>: Sendable {
    /// The type of the items.
    associatedtype Item: Codable & Sendable

    /// Whether the container has an item of the identifier.
    ///
    /// - Throws: the reason why the answer is unknown, such as a locked keyring.
    func hasItem(forIdentifier identifier: String) async throws -> Bool
    /// The item of the identifier; nil only if the container certainly has no such item.
    ///
    /// - Throws: the reason why the item cannot be read or decoded.
    func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item?
    /// Removes the item. Removing a missing item is no error.
    ///
    /// - Throws: the reason why the item may still be there.
    func removeItem(forIdentifier identifier: String) async throws
    /// Stores the item, and replaces an earlier item of the identifier.
    ///
    /// - Throws: the reason why the item was not stored, and an earlier item is still there.
    func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws

    /// The error that ended the last session; nil if no error ended it. A container that does not implement this method
    /// keeps no errors.
    func logoutError(forIdentifier identifier: String) async throws -> LogoutError?
    /// Keeps the error that ended a session; nil removes an earlier error. A container that does not implement this
    /// method keeps no errors.
    func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws
}

extension SessionContainer {
    /// Returns nil: this container keeps no errors. Throws nothing.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? { nil }
    /// Does nothing: this container keeps no errors. Throws nothing.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {}
}

/// The description of an error that ended a session, kept for the next start of the application.
public struct LogoutError: Error, Codable, Sendable, Equatable {
    /// The type of the error, as `URLError`.
    public let type: String
    /// The error's localized description.
    public let message: String

    /// Describes an error. A `LogoutError` is copied.
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
    /// The message.
    public var errorDescription: String? { message }
}
