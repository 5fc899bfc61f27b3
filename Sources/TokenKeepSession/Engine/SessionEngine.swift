public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The session of one account: its tokens and their life.
///
/// Every call runs on the caller's thread and returns by the session's timeout. Several threads and processes may use
/// the same session at once: one of them renews the token, the others get the new one.
public final class SessionEngine: Sendable {
    let storage: SessionStorage
    let kept: MutexGuarded<KeptTokens>
    let hooks: MutexGuarded<[EndHook]>
    /// The watch of ``nextState()``.
    let watched: MutexGuarded<Watched?>
    /// Cancels the calls on this handle; nil for the cancellation of the store.
    private let cancellation: Cancellation?

    /// The names of the session's item.
    public var name: ItemName { storage.name }
    package var store: Store { storage.store }
    package var options: SessionOptions { storage.options }
    /// The tokens of earlier logouts, with the options of this session.
    package var outbox: Outbox { Outbox(store, options) }

    /// Opens the session of an account; nil for the active account of the service.
    ///
    /// - Throws: ``Status/notFound`` if no account is active, ``Status/locked`` if the active account's name is locked.
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

    /// A handle of the same session, for calls that `cancellation` cancels.
    ///
    /// - Parameter hasOwnWatch: whether ``nextState()`` reports to this handle what it has reported to `other` already.
    package init(_ other: SessionEngine, cancelledBy cancellation: Cancellation, hasOwnWatch: Bool = false) {
        storage = other.storage
        kept = other.kept
        hooks = other.hooks
        watched = hasOwnWatch ? MutexGuarded(nil) : other.watched
        self.cancellation = cancellation
    }

    // MARK: Tokens

    /// Returns an access token that lasts at least `minTTL` seconds, if the server gives such tokens.
    ///
    /// A token that ends soon is renewed first. If this fails while the present token is valid, the present token is
    /// returned, marked as short.
    ///
    /// - Parameter target: the use of the token, if it is not that of the sign-in.
    /// - Throws: ``Status/notFound`` if nobody is signed in, ``Status/needsLogin``, ``Status/expired``,
    ///   ``Status/busy`` if another process holds the refresh past the deadline, ``Status/unavailable``;
    ///   ``Status/unsupported`` for the first token of a target if the session has no refresh token.
    public func token(minTTL: UInt32 = 0, for target: TokenTarget? = nil) throws(TokenKeepError) -> SessionToken {
        if let token = tokenInHand(for: target, minTTL: minTTL) { return token }
        return try newCall().token(minTTL: minTTL, for: target)
    }

    /// Renews the token now, whatever its age. A renewal by another process meanwhile counts.
    ///
    /// - Throws: as ``token(minTTL:)``; ``Status/unsupported`` without a transport, or if the session is valid and has
    ///   no refresh token.
    public func refresh() throws(TokenKeepError) -> SessionToken { try newCall().refresh() }

    /// Returns a token in place of one that the server refused with 401.
    ///
    /// If the session has another token already, that one is returned without a request. Retry the server once.
    ///
    /// - Parameter target: the use for which the token was given.
    /// - Throws: as ``token(minTTL:for:)``.
    public func rejected(
        _ refused: SecretBytes, for target: TokenTarget? = nil
    ) throws(TokenKeepError) -> SessionToken {
        try newCall().rejected(refused, for: target)
    }

    // MARK: State

    /// The state of the session, without its tokens. Asks no server.
    public func info() throws(TokenKeepError) -> SessionInfo { try newCall().info() }

    /// The session's profile, which the application keeps beside the tokens: a JSON object; nil if none was set.
    public func profile() throws(TokenKeepError) -> SecretBytes? { try storage.live(newCall().read()).profile() }

    /// Replaces the session's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``Status/invalid`` if it is none, ``Status/notFound`` if nobody is signed in.
    public func setProfile(_ profile: SecretBytes) throws(TokenKeepError) { try newCall().setProfile(profile) }

    // MARK: Calls

    /// A call that begins now, and may prompt.
    func newCall() throws(TokenKeepError) -> SessionCall {
        SessionCall(engine: self, context: try begin().allowingPrompts(true))
    }

    /// The context of a call that begins now, and never prompts.
    package func begin() throws(TokenKeepError) -> CallContext {
        let call = try store.sessionCall(options.timeoutMilliseconds)
        guard let cancellation else { return call }
        let deadline = call.deadline.cancelled(by: cancellation)
        try deadline.checkCancellation()
        return CallContext(deadline: deadline)
    }
}

extension Store {
    /// The context of a session's call, which never prompts.
    ///
    /// - Parameter milliseconds: the longest time of the call; nil for a call that asks no server, which lasts as long as
    ///   the store's calls.
    func sessionCall(_ milliseconds: UInt32? = nil) throws(TokenKeepError) -> CallContext {
        guard isUsable else {
            throw TokenKeepError(.forked, "the store was opened before fork()", hint: "open another one in the child")
        }
        return CallContext(
            deadline: Deadline(milliseconds: milliseconds ?? timeoutMilliseconds, cancellation: cancellation))
    }
}
