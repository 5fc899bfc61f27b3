import TokenKeepCore
import TokenKeepOAuth
package import TokenKeepSession

/// The session of one account: tokens that stay fresh, in every task and every process.
///
/// ```swift
/// var options = TokenSession.Options()
/// options.transport = { request in try await askServer(request) }
/// let session = try await TokenSession(store: store, service: "api.example.com", account: "ann", options: options)
/// let token = try await session.token(minTTL: .seconds(60))
/// ```
///
/// Without a transport the server is asked by libcurl, at the endpoints in the file of the session's provider.
///
/// A token is renewed before its end, by one process; the others wait and get the new token. The server's answer is saved
/// before any process uses it. Only the server's refusal ends a session. Any task may use a session, several at once.
///
/// Calls throw ``TokenKeepError``, or `CancellationError` if their task is cancelled. Once a refresh token was sent,
/// the call ends after the answer is saved.
public final class TokenSession: Sendable {
    package let store: TokenStore
    package let engine: SessionEngine

    /// Opens the session of an account; nil for the active account of the service.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if no account is active,
    ///   ``TokenKeepError/Status/locked`` if the name of the active account is locked,
    ///   ``TokenKeepError/Status/invalid`` if an option or the provider's file is wrong.
    public init(
        store: TokenStore, service: String, account: String? = nil, options: Options = Options()
    ) async throws {
        self.store = store
        let given = options.core
        engine = try await store.run { engine, _ throws(CoreError) in
            var core = given
            if core.transport == nil { try core.useProviders() }
            return try SessionEngine(engine, service: service, account: account, core)
        }
    }

    /// The session's service.
    public var service: String { engine.name.service }
    /// The session's account.
    public var account: String { engine.name.account }

    /// Begins the session with the server's token response as it came: a JSON object (RFC 6749 section 5.1).
    ///
    /// A present session of the account is replaced by one write; a guest so becomes a user. The first session of a
    /// service becomes its active one.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` for a response without a token or an
    ///   impossible level, ``TokenKeepError/Status/unsupported`` for a DPoP token; nothing has changed then.
    ///   ``TokenKeepError/Status/busy`` if another process is changing the session. Otherwise the errors of
    ///   `TokenStore.save`, such as ``TokenKeepError/Status/locked``.
    public func begin(_ kind: Kind, response: TokenStore.Secret) async throws {
        try await perform { session throws(CoreError) in try session.begin(kind.core, response: response.core) }
    }

    /// Begins a user's session with tokens from elsewhere. Both tokens are needed.
    ///
    /// - Parameter expiresIn: the time to the access token's end; nil if unknown.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if a token is empty or malformed, or
    ///   `expiresIn` is negative. Otherwise as ``begin(_:response:)``.
    public func hydrate(
        accessToken: TokenStore.Secret, refreshToken: TokenStore.Secret, expiresIn: Duration? = nil
    ) async throws {
        try await perform { session throws(CoreError) in
            try session.hydrate(
                accessToken: accessToken.core, refreshToken: refreshToken.core,
                expiresIn: expiresIn?.components.seconds)
        }
    }

    /// Returns an access token that lasts `minTTL`, renewed if the token ends soon.
    ///
    /// A token that cannot be renewed and is still valid is returned, marked as short.
    ///
    /// - Throws: ``TokenKeepError`` with one of these statuses, or `CancellationError` if the task is cancelled:
    ///   - ``TokenKeepError/Status/notFound``: nobody is signed in, or the guest's token is over.
    ///   - ``TokenKeepError/Status/needsLogin``: the session is over.
    ///   - ``TokenKeepError/Status/expired``: the token is over, and there is no refresh token.
    ///   - ``TokenKeepError/Status/busy``: another process renews the token past the timeout.
    ///   - ``TokenKeepError/Status/locked``: the record or the refresh token is in a locked place.
    ///   - ``TokenKeepError/Status/unavailable``: the server cannot be reached, asks to wait or gave no usable answer; or
    ///     the record's place cannot be reached.
    ///   - ``TokenKeepError/Status/denied``: the server refuses the client.
    ///   - ``TokenKeepError/Status/unsupported``: nothing reaches the server, or the token's type is not Bearer.
    ///   - ``TokenKeepError/Status/corrupt``: the record is damaged.
    public func token(minTTL: Duration = .zero) async throws -> Token {
        let seconds = UInt32(clamping: minTTL.components.seconds)
        // `tokenInHand` never waits for a file or a server. A change of threads would take longer.
        if !Task.isCancelled, let token = engine.tokenInHand(minTTL: seconds) { return Token(token) }
        return try await perform { session throws(CoreError) in Token(try session.token(minTTL: seconds)) }
    }

    /// Returns an access token for a resource (an absolute URI, RFC 8707), for fewer scopes, or for both.
    ///
    /// Each pair of resource and scope has a token of its own, at most 32 are kept; all are renewed with the same refresh
    /// token.
    ///
    /// - Throws: as ``token(minTTL:)``; ``TokenKeepError`` with ``TokenKeepError/Status/denied`` if the server refuses
    ///   resource or scope, ``TokenKeepError/Status/invalid`` if neither is given,
    ///   ``TokenKeepError/Status/unsupported`` if the session has no refresh token.
    public func token(
        forResource resource: String?, scope: String? = nil, minTTL: Duration = .zero
    ) async throws -> Token {
        let seconds = UInt32(clamping: minTTL.components.seconds)
        return try await perform { session throws(CoreError) in
            Token(try session.token(minTTL: seconds, for: TokenTarget(resource: resource, scope: scope)))
        }
    }

    /// Returns a token in place of a token that the server refused with 401. Retry the server once.
    ///
    /// - Throws: as ``token(minTTL:)``; ``TokenKeepError`` with ``TokenKeepError/Status/expired`` if there is no refresh
    ///   token.
    public func rejected(_ refused: Token) async throws -> Token {
        try await perform { session throws(CoreError) in
            Token(try session.rejected(refused.value.core, for: refused.target))
        }
    }

    /// Asks the server whether it still accepts the access token. A token that the server refuses with 401 is renewed,
    /// once.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/denied`` if the server refuses the renewed token too, or
    ///   answers 403; the session stays. ``TokenKeepError/Status/unavailable`` if the server does not answer or asks to
    ///   wait, ``TokenKeepError/Status/unsupported`` if the provider has no endpoint for the question. Otherwise as
    ///   ``token(minTTL:)``.
    public func validate() async throws {
        try await perform { session throws(CoreError) in try session.validate() }
    }

    /// Asks the server to let the session last longer, and saves its answer: new tokens, a new `expires_in`, or neither.
    ///
    /// - Parameter time: five minutes to a year, in whole seconds.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` for another time; nothing was sent then.
    ///   Otherwise as ``validate()``.
    public func extend(by time: Duration) async throws {
        let seconds = UInt32(clamping: time.components.seconds)
        try await perform { session throws(CoreError) in try session.extend(by: seconds) }
    }

    /// Renews the token now. A renewal by another process meanwhile counts.
    ///
    /// - Throws: as ``token(minTTL:)``; ``TokenKeepError`` with ``TokenKeepError/Status/unsupported`` also if a valid
    ///   session has no refresh token.
    public func refresh() async throws -> Token {
        try await perform { session throws(CoreError) in Token(try session.refresh()) }
    }

    /// The session without its tokens. Asks no server.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/corrupt`` if the record or the vault is damaged, or
    ///   another failure of the vault. A locked place and a place that does not answer are states.
    public var info: Info {
        get async throws { try await perform { session throws(CoreError) in Info(try session.info()) } }
    }

    /// The state of the session. Asks no server.
    ///
    /// - Throws: as ``info``.
    public var state: State { get async throws { try await info.state } }

    /// The application's profile beside the tokens, a JSON object; nil if no profile was set.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if nobody is signed in,
    ///   ``TokenKeepError/Status/needsLogin`` or ``TokenKeepError/Status/expired`` if the session is over,
    ///   ``TokenKeepError/Status/locked`` or ``TokenKeepError/Status/unavailable`` if the record's place is locked or
    ///   cannot be reached, ``TokenKeepError/Status/corrupt`` if the record is damaged.
    public var profile: TokenStore.Secret? {
        get async throws {
            try await perform { session throws(CoreError) in try session.profile().map(TokenStore.Secret.init(core:)) }
        }
    }

    /// Replaces the application's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if the secret is no JSON object or is longer,
    ///   ``TokenKeepError/Status/busy`` if another process is changing the session. Otherwise as ``profile``.
    public func setProfile(_ profile: TokenStore.Secret) async throws {
        try await perform { session throws(CoreError) in try session.setProfile(profile.core) }
    }

    /// Runs `body` when this object ends the session: lower orders first. A failure stops no other hook.
    ///
    /// `body` runs on a thread of its own. After 10 seconds `body` counts as failed, and the logout goes on beside it.
    /// Throws nothing itself.
    public func onEnd(
        _ name: String, order: UInt32, _ body: @escaping @Sendable (_ account: String, _ reason: Reason) throws -> Void
    ) {
        onEnd(name, order: order, limit: EndHookLimit.milliseconds, body)
    }

    /// See `onEnd(_:order:_:)`.
    ///
    /// - Parameter limit: in milliseconds.
    package func onEnd(
        _ name: String, order: UInt32, limit: UInt32,
        _ body: @escaping @Sendable (_ account: String, _ reason: Reason) throws -> Void
    ) {
        engine.onEnd(name, order: order) { _, account, reason throws(CoreError) in
            let isDone = LimitedWork.run(milliseconds: limit) {
                do {
                    try body(account, Reason(reason))
                    return true
                } catch {
                    return false
                }
            }
            guard isDone == true else {
                throw CoreError(.io, isDone == nil ? "the hook did not end in time" : "the hook failed")
            }
        }
    }

    /// Ends the session for every process, also offline and while everything is locked; then the hooks run, and the
    /// token is revoked at the server, or queued to be revoked later. Ending an ended session is no error.
    ///
    /// - Parameter isLocalOnly: whether nothing is sent to the server, now or later.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/io``, ``TokenKeepError/Status/busy`` or another failure
    ///   of the vault if the end could not be noted; the session is as before.
    @discardableResult
    public func end(isLocalOnly: Bool = false) async throws -> Report {
        try await perform { session throws(CoreError) in Report(try session.end(isLocalOnly: isLocalOnly)) }
    }

    /// Runs a call of the engine on a thread of the store. Cancelling the task cancels the call.
    package func perform<Value: Sendable>(
        _ body: @escaping @Sendable (SessionEngine) throws(CoreError) -> Value
    ) async throws -> Value {
        let engine = engine
        return try await store.run { _, deadline throws(CoreError) in
            try body(deadline.cancellation.map { SessionEngine(engine, cancelledBy: $0) } ?? engine)
        }
    }
}
