public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// A handle of one account's session, which returns and renews its tokens.
///
/// Every call runs on the caller's thread and returns within the session's timeout. Several threads and processes may
/// use the same session at once: one of them renews the token, and all get the new token.
public final class SessionEngine: Sendable {
    let storage: SessionStorage
    let kept: MutexGuarded<KeptTokens>
    let hooks: MutexGuarded<[EndHook]>
    /// The watch that ``nextState()`` uses; nil before its first call.
    let watched: MutexGuarded<Watched?>
    /// Cancels calls of this handle; nil if only the store's cancellation applies.
    private let cancellation: Cancellation?

    /// The name of the session's item.
    public var name: ItemName { storage.name }
    package var store: Store { storage.store }
    package var options: SessionOptions { storage.options }
    /// The outbox of the store, with the options of this session.
    package var outbox: Outbox { Outbox(store, options) }

    /// Opens the session of an account; nil opens that of the service's active account.
    ///
    /// - Throws: ``Status/notFound`` if no account is active; ``Status/locked`` if the active account's name is locked.
    public init(
        _ store: Store, service: String, account: String?, _ options: SessionOptions = SessionOptions()
    ) throws(TokenKeepError) {
        let call = try store.sessionCall(options.timeoutMilliseconds)
        let account =
            if let account { account } else { try Sessions(store).activeAccount(of: service, call) }
        let name = try ItemName(namespace: store.namespace, service: service, account: account)
        storage = try SessionStorage(store, name, options, call)
        kept = MutexGuarded(KeptTokens())
        hooks = MutexGuarded([])
        watched = MutexGuarded(nil)
        cancellation = nil
        if options.transport != nil { store.openSessions.add(self) }
    }

    /// Creates another handle of the same session, whose calls `cancellation` cancels.
    ///
    /// - Parameter hasOwnWatch: whether the new handle has a watch of its own, so that its ``nextState()`` also reports
    ///   states that `other` has already reported.
    package init(_ other: SessionEngine, cancelledBy cancellation: Cancellation, hasOwnWatch: Bool = false) {
        storage = other.storage
        kept = other.kept
        hooks = other.hooks
        watched = hasOwnWatch ? MutexGuarded(nil) : other.watched
        self.cancellation = cancellation
    }

    // MARK: Tokens

    /// Returns an access token that is valid for at least `minTTL` seconds, if the server issues tokens that last so
    /// long.
    ///
    /// A token that expires soon is renewed first. If the renewal fails while the present token is valid, returns the
    /// present token, marked as short.
    ///
    /// - Parameter target: the resource or scope of the access token; nil for the resource and scope of the sign-in.
    /// - Throws: ``Status/notFound`` if nobody is signed in; ``Status/needsLogin`` or ``Status/expired`` if the session
    ///   is over; ``Status/busy`` if another process keeps the refresh lock past the deadline; ``Status/unavailable``
    ///   if the server does not answer; ``Status/unsupported`` for the first token of a target if the session has no
    ///   refresh token.
    public func token(minTTL: UInt32 = 0, for target: TokenTarget? = nil) throws(TokenKeepError) -> SessionToken {
        if let token = tokenInHand(for: target, minTTL: minTTL) { return token }
        return try newCall().token(minTTL: minTTL, for: target)
    }

    /// Renews the access token now, whatever its age. If another process renewed it meanwhile, returns that process's
    /// token.
    ///
    /// - Throws: the errors of ``token(minTTL:for:)``; ``Status/unsupported`` if there is no transport, or if a valid
    ///   session has no refresh token.
    public func refresh() throws(TokenKeepError) -> SessionToken { try newCall().refresh() }

    /// Returns an access token to use instead of a token that the server refused with 401.
    ///
    /// If the session already has another token, returns that token without a request. The caller should repeat its
    /// request to the server once, with the new token.
    ///
    /// - Parameter target: the target for which the refused token was returned; nil if it was the access token of the
    ///   sign-in.
    /// - Throws: the errors of ``token(minTTL:for:)``.
    public func rejected(
        _ refused: SecretBytes, for target: TokenTarget? = nil
    ) throws(TokenKeepError) -> SessionToken {
        try newCall().rejected(refused, for: target)
    }

    // MARK: State

    /// Returns the state of the session, without its tokens. Asks no server.
    public func info() throws(TokenKeepError) -> SessionInfo { try newCall().info() }

    /// Returns the application's profile, a JSON object stored with the session; nil if none was set.
    public func profile() throws(TokenKeepError) -> SecretBytes? { try storage.live(newCall().read()).profile() }

    /// Replaces the session's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``Status/invalid`` if the profile is no JSON object or too long; ``Status/notFound`` if nobody is
    ///   signed in.
    public func setProfile(_ profile: SecretBytes) throws(TokenKeepError) { try newCall().setProfile(profile) }

    // MARK: Calls

    /// Begins a call that may ask the user to unlock a module.
    func newCall() throws(TokenKeepError) -> SessionCall {
        SessionCall(engine: self, context: try begin().allowingPrompts(true))
    }

    /// Creates the context of a call that begins now and never prompts.
    package func begin() throws(TokenKeepError) -> CallContext {
        let call = try store.sessionCall(options.timeoutMilliseconds)
        guard let cancellation else { return call }
        let deadline = call.deadline.cancelled(by: cancellation)
        try deadline.checkCancellation()
        return CallContext(deadline: deadline)
    }
}

extension Store {
    /// Creates the context of a session's call, which never prompts.
    ///
    /// - Parameter milliseconds: the time limit of the call; nil for the store's own time limit, which suits calls that
    ///   ask no server.
    func sessionCall(_ milliseconds: UInt32? = nil) throws(TokenKeepError) -> CallContext {
        guard isUsable else {
            throw TokenKeepError(.forked, "the store was opened before fork()", hint: "open another one in the child")
        }
        return CallContext(
            deadline: Deadline(milliseconds: milliseconds ?? timeoutMilliseconds, cancellation: cancellation))
    }
}
