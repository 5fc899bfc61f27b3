public import Foundation
public import TokenKeep

/// A container that stores its items in a `TokenStore`, with the identifier as the account.
///
/// The error that ended a session is stored as an item with the account `IDENTIFIER.logout`.
///
/// Levels whose names end with `thisDeviceOnly` need a vault that is bound to a device. `TokenStore.chooseDevice()`
/// binds the vault, once.
public struct StoreSessionContainer<Item: Codable & Sendable>: SessionContainer {
    /// The time for which stored items can be found.
    public enum Lifecycle: Sendable, Equatable {
        /// Items can be found until the application removes them.
        case unmanaged
        /// Items can be found as long as the application passes the same identifier. It should make a new one for each
        /// installation.
        ///
        /// The items' service is the identifier, a full stop and the container's service. Items of earlier
        /// installations stay in the store, but cannot be found.
        case currentInstall(identifier: String)
    }

    private let reference: StoreReference
    private let service: String
    private let options: TokenStore.SaveOptions

    /// Makes a container in the default stack. The store is opened by the first call.
    public init(
        service: String, lifecycle: Lifecycle = .unmanaged, level: TokenItem.Accessibility = .afterFirstUnlock
    ) {
        self.init(StoreReference(namespace: ""), service, lifecycle, level)
    }

    /// Makes a container in a store.
    public init(
        store: TokenStore, service: String, lifecycle: Lifecycle = .unmanaged,
        level: TokenItem.Accessibility = .afterFirstUnlock
    ) {
        self.init(StoreReference(store), service, lifecycle, level)
    }

    private init(
        _ reference: StoreReference, _ service: String, _ lifecycle: Lifecycle, _ level: TokenItem.Accessibility
    ) {
        self.reference = reference
        self.service =
            switch lifecycle {
            case .unmanaged: service
            case .currentInstall(let identifier): "\(identifier).\(service)"
            }
        options = TokenStore.SaveOptions(accessibility: level)
    }

    /// Whether the store has an item with the identifier.
    ///
    /// - Throws: `TokenKeepError` with `locked` or `unavailable` if a module that may hold the item is locked or cannot
    ///   be reached, `corrupt` if the item is damaged, or another status.
    public func hasItem(forIdentifier identifier: String) async throws -> Bool {
        try await secret(of: identifier) != nil
    }

    /// The item with the identifier; nil if the store has no such item.
    ///
    /// - Throws: `TokenKeepError` with `locked` or `unavailable` if a module is locked or cannot be reached, `corrupt`
    ///   if the item is not JSON of its type, or another status.
    public func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) async throws -> Item? {
        guard let secret = try await secret(of: identifier) else { return nil }
        return try CodableSecret.decode(
            Item.self, from: secret, of: "the item \(service) (\(identifier))", jsonDecoder)
    }

    /// Removes the item with the identifier.
    ///
    /// - Throws: `TokenKeepError` with `locked` or `unavailable` if a module cannot be reached and the vault cannot
    ///   store a pending removal, `denied` if a module refuses, or another status.
    public func removeItem(forIdentifier identifier: String) async throws {
        try await reference.store().clear(service: service, account: identifier)
    }

    /// Stores the item as JSON. When the call returns, the item survives a loss of power.
    ///
    /// - Throws: the error of `jsonEncoder`, or `TokenKeepError`: `locked` if a module or a key is locked,
    ///   `unavailable` if no module can store the item, `policy` or `unsupported` if the level is refused or
    ///   impossible, or another status.
    public func storeItem(
        _ item: Item, forIdentifier identifier: String, jsonEncoder: JSONEncoder
    ) async throws {
        let secret = try CodableSecret.encode(item, jsonEncoder)
        try await reference.store().save(secret, service: service, account: identifier, options: options)
    }

    /// The error that ended the last session; nil if no error ended it.
    ///
    /// - Throws: the errors of ``item(forIdentifier:jsonDecoder:)``.
    public func logoutError(forIdentifier identifier: String) async throws -> LogoutError? {
        guard let secret = try await secret(of: Self.errorAccount(identifier)) else { return nil }
        return try CodableSecret.decode(from: secret, of: "the logout of \(service) (\(identifier))")
    }

    /// Stores the error that ended a session; nil removes an earlier error.
    ///
    /// - Throws: the errors of ``storeItem(_:forIdentifier:jsonEncoder:)``; if `error` is nil, the errors of
    ///   ``removeItem(forIdentifier:)``.
    public func setLogoutError(_ error: LogoutError?, forIdentifier identifier: String) async throws {
        let account = Self.errorAccount(identifier)
        guard let error else {
            try await reference.store().clear(service: service, account: account)
            return
        }
        let secret = try CodableSecret.encode(error)
        try await reference.store().save(secret, service: service, account: account, options: options)
    }

    private static func errorAccount(_ identifier: String) -> String { identifier + ".logout" }

    private func secret(of account: String) async throws -> TokenStore.Secret? {
        do {
            return try await reference.store().load(service: service, account: account).secret
        } catch TokenKeepError.Status.notFound {
            return nil
        }
    }
}
