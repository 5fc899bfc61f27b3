public import Foundation

/// Keeps items of one type by identifier. An application may write its own.
///
/// The methods of a container may be synchronous, and need not throw.
public protocol SessionContainer<Item>: Sendable {
    /// The type of the items.
    associatedtype Item: Codable & Sendable

    /// Whether there is an item.
    ///
    /// - Throws: the reason why this is not known, as a locked keyring.
    func hasItem(forIdentifier identifier: String) async throws -> Bool
    /// The item; nil if there is none, and for no other reason.
    func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item?
    /// Removes the item. Removing a missing item is no error.
    func removeItem(forIdentifier identifier: String) async throws
    /// Stores the item in the place of an earlier one.
    func storeItem(_ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder) async throws

    /// The error that ended the last session; nil if there is none. A container without this method has none.
    func logoutError(forIdentifier identifier: String) async throws -> LogoutError?
    /// Keeps the error that ended a session, or removes it for nil. A container without this method keeps none.
    func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws
}

extension SessionContainer {
    /// None: this container keeps no errors.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? { nil }
    /// Does nothing: this container keeps no errors.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {}
}

/// The error that ended a session, as it is kept for the next start of the application.
public struct LogoutError: Error, Codable, Sendable, Equatable {
    /// The type of the error, as `URLError`.
    public let type: String
    /// The error's localized description.
    public let message: String

    /// Describes an error. A `LogoutError` is taken as it is.
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
