public import Foundation

/// The signed-in user of an application, stored in a container, with events of its changes.
///
/// The application defines the value. Tokens that several processes renew belong in a `TokenSession`.
public final class UserSession<Value: Codable & Sendable>: Session<Value>, Refreshable, @unchecked Sendable {
    /// A change of the user.
    public enum Event: Sendable {
        /// A user has signed in.
        case loggedIn
        /// The user has signed out, or an error has ended the session.
        case loggedOut(LogoutError?)
        /// The user's value has changed.
        case updated
    }

    /// The condition for calling the refresh handler.
    public enum RefreshPolicy: Sendable {
        /// The handler is always called.
        case always
        /// The handler is called if `needsRefresh` returns true for the user.
        case ifNeeded
        /// The handler is never called.
        case never
    }

    /// Returns the new value of a user, for example with a new token.
    public typealias RefreshHandler = @Sendable (_ user: Value) async throws -> Value

    /// The error of a refresh that is impossible.
    public enum RefreshError: Error, Sendable, Equatable {
        /// Nobody is signed in.
        case noUser
        /// The session has no refresh handler.
        case noHandler
    }

    private let refreshHandler: RefreshHandler?
    private let needsRefresh: @Sendable (Value) -> Bool
    private let broadcast = Broadcast<Event>()
    private let running = Guarded<Task<Value, any Error>?>(nil)
    /// Runs changes one after another, so that a logout during a refresh leaves the user signed out.
    private let changes = SerialWork()

    /// Makes a session. Does not read the container.
    ///
    /// - Parameters:
    ///   - container: the container of the user.
    ///   - storageIdentifier: the identifier of the user in the container.
    ///   - jsonDecoder: decodes the user.
    ///   - jsonEncoder: encodes the user.
    ///   - refreshHandler: receives the present user and returns the refreshed user, who is then stored; nil if users
    ///     cannot be refreshed.
    ///   - needsRefresh: returns whether a user must be refreshed if the policy is ``RefreshPolicy/ifNeeded``.
    public init(
        container: AnySessionContainer<Value>, storageIdentifier: String, jsonDecoder: JSONDecoder = JSONDecoder(),
        jsonEncoder: JSONEncoder = JSONEncoder(), needsRefresh: @escaping @Sendable (Value) -> Bool = { _ in false },
        refreshHandler: RefreshHandler? = nil
    ) {
        self.refreshHandler = refreshHandler
        self.needsRefresh = needsRefresh
        super.init(
            container: container, storageIdentifier: storageIdentifier, jsonDecoder: jsonDecoder,
            jsonEncoder: jsonEncoder)
    }

    /// The user; nil if nobody is signed in.
    ///
    /// - Throws: the container's error. A ``StoreSessionContainer`` throws `TokenKeepError` with `locked`,
    ///   `unavailable`, `corrupt` if the item is not JSON of the user's type, or another status.
    public var currentUser: Value? { get async throws { try await item } }

    /// Whether a user is signed in.
    ///
    /// - Throws: the errors of ``currentUser``.
    public var isLoggedIn: Bool {
        get async throws { try await container.hasItem(forIdentifier: storageIdentifier) }
    }

    /// The error that ended the last session, also in an earlier run of the application.
    ///
    /// nil if a user is signed in, or if the user signed out without an error.
    ///
    /// - Throws: the errors of ``currentUser``.
    public var logoutError: LogoutError? {
        get async throws {
            guard try await !isLoggedIn else { return nil }
            return try await container.logoutError(forIdentifier: storageIdentifier)
        }
    }

    /// A stream of the changes by this object from now on. If the reader is slow, only the latest 256 changes are kept.
    public var events: AsyncStream<Event> { broadcast.stream() }

    /// Stores a user who has signed in.
    ///
    /// - Throws: the container's error. A ``StoreSessionContainer`` throws `EncodingError`, or `TokenKeepError` with
    ///   `locked`, `unavailable`, `policy` or another status.
    public func didLogIn(_ user: Value) async throws {
        try await changes.run { [self] in try await storeItem(user) }
        broadcast.send(.loggedIn)
    }

    /// Deletes the user, and stores the error that ended the session.
    ///
    /// - Throws: the errors of ``didLogIn(_:)``.
    public func didLogOut(_ error: (any Error)? = nil) async throws {
        running.withLock { $0 }?.cancel()
        let kept = error.map(LogoutError.init)
        try await changes.run { [self] in
            // The error is stored first. If the second step then fails, `logoutError` ignores the error, because the
            // user is still stored.
            try await container.setLogoutError(kept, forIdentifier: storageIdentifier)
            try await deleteItem()
        }
        broadcast.send(.loggedOut(kept))
    }

    /// Stores a new value of the user.
    ///
    /// - Throws: the errors of ``didLogIn(_:)``.
    public func didUpdate(_ user: Value) async throws {
        try await changes.run { [self] in try await storeItem(user) }
        broadcast.send(.updated)
    }

    /// Returns the user; nil if nobody is signed in. If the policy requires it, refreshes the user first.
    ///
    /// - Throws: the handler's error, after which the stored user is unchanged; ``RefreshError`` if there is no handler
    ///   or the user signed out during the refresh; otherwise the errors of ``currentUser`` and ``didLogIn(_:)``.
    public func currentUser(refreshing policy: RefreshPolicy) async throws -> Value? {
        guard let user = try await item else { return nil }
        switch policy {
        case .always: return try await refreshed()
        case .ifNeeded: return needsRefresh(user) ? try await refreshed() : user
        case .never: return user
        }
    }

    /// Refreshes the user. Simultaneous calls share one refresh.
    ///
    /// - Throws: ``RefreshError`` if nobody is signed in or the session has no handler; otherwise the errors of
    ///   ``currentUser(refreshing:)``.
    public func refresh() async throws { _ = try await refreshed() }

    private func refreshed() async throws -> Value { try await sharedRefresh().value }

    /// Returns the running refresh, or starts a new one.
    func sharedRefresh() -> Task<Value, any Error> {
        running.withLock { running in
            if let running { return running }
            let task = Task { try await refreshAlone() }
            running = task
            return task
        }
    }

    private func refreshAlone() async throws -> Value {
        defer { running.withLock { $0 = nil } }
        guard let refreshHandler else { throw RefreshError.noHandler }
        guard let user = try await item else { throw RefreshError.noUser }
        let fresh = try await refreshHandler(user)
        try Task.checkCancellation()
        try await changes.run { [self] in
            // If the user signed out during the refresh, the new value is discarded.
            guard try await isLoggedIn else { throw RefreshError.noUser }
            try await storeItem(fresh)
        }
        broadcast.send(.updated)
        return fresh
    }
}
