import Foundation
public import TokenKeep

/// Saves, loads and clears one token of an application, as JSON.
///
/// ```swift
/// let manager = TokenManager<OAuthToken>(service: "com.example.app.tokens", account: "example")
/// try await manager.saveToken(token)
/// if try await manager.hasRefreshToken() { … }
/// ```
///
/// The manager only stores the token; a `TokenSession` also renews tokens. Several tasks may use a manager at the same
/// time. The Strings of the token are not wiped.
public actor TokenManager<Token: Codable & Sendable> {
    private let reference: StoreReference
    private let service: String
    private let account: String
    private let level: TokenItem.Accessibility

    /// Makes a manager for one item of the default stack. The store is opened by the first call.
    ///
    /// - Parameters:
    ///   - service: the item's service.
    ///   - account: the item's account.
    ///   - namespace: the namespace of the item, which several programs may share; the equivalent of a keychain access
    ///     group.
    ///   - level: the accessibility level with which a token is saved.
    public init(
        service: String, account: String, namespace: String = "", level: TokenItem.Accessibility = .afterFirstUnlock
    ) {
        reference = StoreReference(namespace: namespace)
        self.service = service
        self.account = account
        self.level = level
    }

    /// Makes a manager for one item of a store.
    public init(
        store: TokenStore, service: String, account: String, level: TokenItem.Accessibility = .afterFirstUnlock
    ) {
        reference = StoreReference(store)
        self.service = service
        self.account = account
        self.level = level
    }

    /// Loads the token; nil only if the store certainly has no token.
    ///
    /// - Throws: `TokenKeepError` with `locked` or `unavailable` if a module is locked or cannot be reached, `corrupt`
    ///   if the item is not JSON of `Token`, or another status; `CancellationError` if the task is cancelled.
    public func loadToken() async throws -> Token? {
        do {
            let item = try await reference.store().load(service: service, account: account)
            return try CodableSecret.decode(Token.self, from: item.secret, of: "the token \(service) (\(account))")
        } catch TokenKeepError.Status.notFound {
            return nil
        }
    }

    /// Saves the token, and replaces an earlier token. When the call returns, the token survives a loss of power.
    ///
    /// - Throws: `EncodingError`, or `TokenKeepError` with `locked`, `unavailable`, `policy` or `unsupported` if the
    ///   level is impossible here, or another status; `CancellationError` if the task is cancelled.
    public func saveToken(_ token: Token) async throws {
        let secret = try CodableSecret.encode(token)
        let options = TokenStore.SaveOptions(accessibility: level)
        try await reference.store().save(secret, service: service, account: account, options: options)
    }

    /// Clears the token. Clearing a missing token is not an error.
    ///
    /// - Throws: `TokenKeepError` with `locked` or `unavailable` if a module cannot be reached and the vault cannot
    ///   store a pending removal, or another status; `CancellationError` if the task is cancelled.
    public func clearToken() async throws {
        try await reference.store().clear(service: service, account: account)
    }
}

extension TokenManager where Token: RefreshableToken {
    /// Whether the store has a token whose refresh token is not empty.
    ///
    /// - Throws: the errors of ``loadToken()``.
    public func hasRefreshToken() async throws -> Bool {
        guard let token = try await loadToken() else { return false }
        return !token.refreshToken.isEmpty
    }
}
