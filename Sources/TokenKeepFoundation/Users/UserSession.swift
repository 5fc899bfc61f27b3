public import Foundation

/// The signed-in user of an application: a value in a container, and the events of its changes.
///
/// The value is the application's. Tokens that are renewed by several processes belong to a `TokenSession`.
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

    /// When a refresh handler is called.
    public enum RefreshPolicy: Sendable {
        /// At each call.
        case always
        /// If the user's value needs it.
        case ifNeeded
        /// Never.
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

    /// Makes a session. Reads nothing.
    ///
    /// - Parameters:
    ///   - container: the container of the user.
    ///   - storageIdentifier: the identifier of the user in the container.
    ///   - jsonDecoder: decodes the user.
    ///   - jsonEncoder: encodes the user.
    ///   - refreshHandler: gets the present user and returns the new one, which is stored.
    ///   - needsRefresh: whether a user must be refreshed for ``RefreshPolicy/ifNeeded``.
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
    /// - Throws: the error of the container. Of a ``StoreSessionContainer`` it is `TokenKeepError`: `locked`,
    ///   `unavailable`, `corrupt` if the item is no JSON of the user's type, and others.
    public var currentUser: Value? { get async throws { try await item } }

    /// Whether a user is signed in.
    ///
    /// - Throws: as ``currentUser``.
    public var isLoggedIn: Bool {
        get async throws { try await container.hasItem(forIdentifier: storageIdentifier) }
    }

    /// The error that ended the last session, also of an earlier run of the application; nil if a user is signed in, or
    /// signed out without an error.
    ///
    /// - Throws: as ``currentUser``.
    public var logoutError: LogoutError? {
        get async throws {
            guard try await !isLoggedIn else { return nil }
            return try await container.logoutError(forIdentifier: storageIdentifier)
        }
    }

    /// The changes by this object from now on. A slow reader gets the newest 256.
    public var events: AsyncStream<Event> { broadcast.stream() }

    /// Stores a user who has signed in.
    ///
    /// - Throws: the error of the container. Of a ``StoreSessionContainer`` it is `EncodingError`, or `TokenKeepError`:
    ///   `locked`, `unavailable`, `policy` and others.
    public func didLogIn(_ user: Value) async throws {
        try await changes.run { [self] in try await storeItem(user) }
        broadcast.send(.loggedIn)
    }

    /// Deletes the user, and keeps the error that ended the session.
    ///
    /// - Throws: as ``didLogIn(_:)``.
    public func didLogOut(_ error: (any Error)? = nil) async throws {
        running.withLock { $0 }?.cancel()
        let kept = error.map(LogoutError.init)
        try await changes.run { [self] in
            // The error is stored first: `logoutError` ignores the error while the user is stored.
            try await container.setLogoutError(kept, forIdentifier: storageIdentifier)
            try await deleteItem()
        }
        broadcast.send(.loggedOut(kept))
    }

    /// Stores a new value of the user.
    ///
    /// - Throws: as ``didLogIn(_:)``.
    public func didUpdate(_ user: Value) async throws {
        try await changes.run { [self] in try await storeItem(user) }
        broadcast.send(.updated)
    }

    /// The user, refreshed before if the policy says so; nil if nobody is signed in.
    ///
    /// - Throws: the handler's error, and the stored user stays; ``RefreshError`` without a handler, or after a logout
    ///   meanwhile. Otherwise as ``currentUser`` and ``didLogIn(_:)``.
    public func currentUser(refreshing policy: RefreshPolicy) async throws -> Value? {
        guard let user = try await item else { return nil }
        switch policy {
        case .always: return try await refreshed()
        case .ifNeeded: return needsRefresh(user) ? try await refreshed() : user
        case .never: return user
        }
    }

    /// Refreshes the user. Calls at the same time share one refresh.
    ///
    /// - Throws: ``RefreshError`` if nobody is signed in or the session has no handler. Otherwise as
    ///   ``currentUser(refreshing:)``.
    public func refresh() async throws { _ = try await refreshed() }

    private func refreshed() async throws -> Value { try await sharedRefresh().value }

    /// The running refresh, or a new refresh.
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
            // A logout meanwhile wins.
            guard try await isLoggedIn else { throw RefreshError.noUser }
            try await storeItem(fresh)
        }
        broadcast.send(.updated)
        return fresh
    }
}
