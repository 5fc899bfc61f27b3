import TokenKeepCore
import TokenKeepSession

/// Lists the sessions of a store, and manages the active account of each service.
public struct TokenSessions: Sendable {
    /// A list of sessions.
    public struct Listing: Sendable {
        /// The sessions, sorted by service and account.
        public let sessions: [TokenSession.Info]
        /// The error that left the list incomplete; nil if the list is complete.
        public let problem: TokenKeepError?
    }

    private let store: TokenStore

    /// Makes a value that gives access to the sessions of a store.
    public init(store: TokenStore) { self.store = store }

    /// Lists the sessions of a service, or of all services if `service` is nil. Reads no token.
    ///
    /// - Throws: ``TokenKeepError`` if the vault cannot be read, for example with ``TokenKeepError/Status/corrupt``. If
    ///   names are locked or notes are damaged, does not throw, but sets the listing's ``Listing/problem``.
    public func list(service: String? = nil) async throws -> Listing {
        try await store.run { engine, _ throws(CoreError) in
            let listing = try Sessions(engine).list(service: service)
            return Listing(
                sessions: listing.sessions.map(TokenSession.Info.init),
                problem: listing.problem.map { TokenKeepError($0) })
        }
    }

    /// A sequence of the sessions of a service, or of all services if `service` is nil: first every session, then each
    /// session that changes.
    ///
    /// While the vault is locked, the names of sessions are locked, too. The sequence reports sessions with locked
    /// names after the vault is unlocked.
    public func changes(of service: String? = nil) -> TokenSession.States {
        let engine = store.engine
        return TokenSession.States { _ throws(CoreError) in
            let watch = try SessionsWatch(engine, service: service)
            return StateSource(descriptor: watch.descriptor) { () throws(CoreError) in try watch.next() }
        }
    }

    /// The active account of a service.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if no account is active,
    ///   ``TokenKeepError/Status/locked`` if the account's name is locked.
    public func active(of service: String) async throws -> String {
        try await store.run { engine, _ throws(CoreError) in try Sessions(engine).active(of: service) }
    }

    /// Makes an account the active account of its service.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if nobody is signed in as the account,
    ///   ``TokenKeepError/Status/corrupt`` if the session's note is damaged.
    public func makeActive(service: String, account: String) async throws {
        try await store.run { engine, _ throws(CoreError) in
            try Sessions(engine).makeActive(service: service, account: account)
        }
    }

    /// The id of this user on this machine: a random UUID, which is made at the first use and survives every logout.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/io`` if the id cannot be saved, or another failure of the
    ///   vault.
    public func deviceID() async throws -> String {
        try await store.run { engine, _ throws(CoreError) in try Sessions(engine).deviceID() }
    }
}
