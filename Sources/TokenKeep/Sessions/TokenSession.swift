import TokenKeepCore
import TokenKeepOAuth
package import TokenKeepSession

/// The session of one account, which keeps its tokens fresh for all tasks and processes.
///
/// ```swift
/// var options = TokenSession.Options()
/// options.transport = { request in try await askServer(request) }
/// let session = try await TokenSession(store: store, service: "api.example.com", account: "ann", options: options)
/// let token = try await session.token(minTTL: .seconds(60))
/// ```
///
/// Without a transport, requests are sent by libcurl to the endpoints in the file of the session's provider.
///
/// Only one process renews a token before its end; all other processes wait and get the new token. The server's answer
/// is saved before any process uses it. Only a refusal by the server ends a session. Several tasks may use a session at
/// the same time.
///
/// Calls throw ``TokenKeepError``, or `CancellationError` if their task is cancelled. After a call has sent a refresh
/// token, neither a cancellation nor the call's timeout ends the call before the server's answer was saved, or did not
/// come within 30 seconds.
public final class TokenSession: Sendable {
    package let store: TokenStore
    package let engine: SessionEngine

    /// Opens the session of an account, or of the service's active account if `account` is nil.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if no account is active,
    ///   ``TokenKeepError/Status/locked`` if the name of the active account is locked,
    ///   ``TokenKeepError/Status/invalid`` if an option or the provider's file is malformed.
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

    /// Begins the session with the server's unchanged token response, a JSON object (RFC 6749 section 5.1).
    ///
    /// A present session of the account is replaced in one write. In this way a guest becomes a user. The first session
    /// of a service becomes its active session.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if the response has no token or the level is
    ///   impossible, or ``TokenKeepError/Status/unsupported`` if the token is a DPoP token, in both cases with nothing
    ///   changed; ``TokenKeepError/Status/busy`` if another process is changing the session; otherwise the errors of
    ///   `TokenStore.save`, such as ``TokenKeepError/Status/locked``.
    public func begin(_ kind: Kind, response: TokenStore.Secret) async throws {
        try await perform { session throws(CoreError) in try session.begin(kind.core, response: response.core) }
    }

    /// Begins a user's session with tokens from another source. Both tokens are required.
    ///
    /// - Parameter expiresIn: the remaining lifetime of the access token; nil if unknown.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if a token is empty or malformed, or
    ///   `expiresIn` is negative; otherwise the errors of ``begin(_:response:)``.
    public func hydrate(
        accessToken: TokenStore.Secret, refreshToken: TokenStore.Secret, expiresIn: Duration? = nil
    ) async throws {
        try await perform { session throws(CoreError) in
            try session.hydrate(
                accessToken: accessToken.core, refreshToken: refreshToken.core,
                expiresIn: expiresIn?.components.seconds)
        }
    }

    /// Returns an access token that is valid for at least `minTTL`. If the present token ends sooner, renews it first.
    ///
    /// If the renewal fails and the present token is still valid, returns that token with `isShort` set.
    ///
    /// - Throws: ``TokenKeepError`` with one of these statuses, or `CancellationError` if the task is cancelled:
    ///   - ``TokenKeepError/Status/notFound``: nobody is signed in, or the guest's token has expired.
    ///   - ``TokenKeepError/Status/needsLogin``: the session has ended.
    ///   - ``TokenKeepError/Status/expired``: the token has expired, and there is no refresh token.
    ///   - ``TokenKeepError/Status/busy``: a renewal by another process lasts beyond the timeout.
    ///   - ``TokenKeepError/Status/locked``: the module of the record or of the refresh token is locked.
    ///   - ``TokenKeepError/Status/unavailable``: the server cannot be reached, asks to wait or gave no usable answer;
    ///     or the record's module cannot be reached.
    ///   - ``TokenKeepError/Status/denied``: the server refuses the client.
    ///   - ``TokenKeepError/Status/unsupported``: there is no way to reach the server, or the token's type is not
    ///     Bearer.
    ///   - ``TokenKeepError/Status/corrupt``: the record is damaged.
    public func token(minTTL: Duration = .zero) async throws -> Token {
        let seconds = UInt32(clamping: minTTL.components.seconds)
        // `tokenInHand` never waits for a file or a server, so it may run on this thread. A switch to another thread
        // would take longer than the call.
        if !Task.isCancelled, let token = engine.tokenInHand(minTTL: seconds) { return Token(token) }
        return try await perform { session throws(CoreError) in Token(try session.token(minTTL: seconds)) }
    }

    /// Returns an access token for a resource (an absolute URI, RFC 8707), for fewer scopes, or for both.
    ///
    /// Each pair of resource and scope has its own token. At most 32 tokens are kept, and all are renewed with the same
    /// refresh token.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/denied`` if the server refuses resource or scope,
    ///   ``TokenKeepError/Status/invalid`` if neither is given, ``TokenKeepError/Status/unsupported`` if the session
    ///   has no refresh token; otherwise the errors of ``token(minTTL:)``.
    public func token(
        forResource resource: String?, scope: String? = nil, minTTL: Duration = .zero
    ) async throws -> Token {
        let seconds = UInt32(clamping: minTTL.components.seconds)
        return try await perform { session throws(CoreError) in
            Token(try session.token(minTTL: seconds, for: TokenTarget(resource: resource, scope: scope)))
        }
    }

    /// Returns a replacement for a token that the server refused with 401. The caller should retry its request once.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/expired`` if there is no refresh token; otherwise the
    ///   errors of ``token(minTTL:)``.
    public func rejected(_ refused: Token) async throws -> Token {
        try await perform { session throws(CoreError) in
            Token(try session.rejected(refused.value.core, for: refused.target))
        }
    }

    /// Validates the access token at the server. If the server refuses the token with 401, it is renewed once.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/denied`` if the server also refuses the renewed token
    ///   or answers 403 (the session continues nevertheless); ``TokenKeepError/Status/unavailable`` if the server does
    ///   not answer or asks to wait; ``TokenKeepError/Status/unsupported`` if the provider has no endpoint for
    ///   validation; otherwise the errors of ``token(minTTL:)``.
    public func validate() async throws {
        try await perform { session throws(CoreError) in try session.validate() }
    }

    /// Extends the session at the server, and saves the answer: new tokens, a new `expires_in`, or neither.
    ///
    /// - Parameter time: the time by which the session is extended: five minutes to a year, in whole seconds.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if the time is out of this range, with
    ///   nothing sent; otherwise the errors of ``validate()``.
    public func extend(by time: Duration) async throws {
        let seconds = UInt32(clamping: time.components.seconds)
        try await perform { session throws(CoreError) in try session.extend(by: seconds) }
    }

    /// Renews the token now, unless another process renews it during the call.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/unsupported`` also if a valid session has no refresh
    ///   token; otherwise the errors of ``token(minTTL:)``.
    public func refresh() async throws -> Token {
        try await perform { session throws(CoreError) in Token(try session.refresh()) }
    }

    /// The session without its tokens. Sends no request.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/corrupt`` if the record or the vault is damaged, or
    ///   another failure of the vault. Does not throw if a module is locked or cannot be reached; ``Info/state`` then
    ///   says so.
    public var info: Info {
        get async throws { try await perform { session throws(CoreError) in Info(try session.info()) } }
    }

    /// The state of the session. Sends no request.
    ///
    /// - Throws: the errors of ``info``.
    public var state: State { get async throws { try await info.state } }

    /// The application's profile, a JSON object that is stored beside the tokens; nil if no profile was set.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if nobody is signed in,
    ///   ``TokenKeepError/Status/needsLogin`` or ``TokenKeepError/Status/expired`` if the session has ended,
    ///   ``TokenKeepError/Status/locked`` or ``TokenKeepError/Status/unavailable`` if the record's module is locked or
    ///   cannot be reached, ``TokenKeepError/Status/corrupt`` if the record is damaged.
    public var profile: TokenStore.Secret? {
        get async throws {
            try await perform { session throws(CoreError) in try session.profile().map(TokenStore.Secret.init(core:)) }
        }
    }

    /// Replaces the application's profile by a JSON object of at most 64 KiB.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/invalid`` if the secret is not a JSON object or too
    ///   long, ``TokenKeepError/Status/busy`` if another process is changing the session; otherwise the errors of
    ///   ``profile``.
    public func setProfile(_ profile: TokenStore.Secret) async throws {
        try await perform { session throws(CoreError) in try session.setProfile(profile.core) }
    }

    /// Registers a hook that runs when this object ends the session. Hooks with a lower `order` run first.
    ///
    /// `body` runs on its own thread. After 10 seconds `body` counts as failed, and the logout continues without
    /// waiting for it. If `body` fails, the other hooks still run.
    public func onEnd(
        _ name: String, order: UInt32, _ body: @escaping @Sendable (_ account: String, _ reason: Reason) throws -> Void
    ) {
        onEnd(name, order: order, limit: EndHookLimit.milliseconds, body)
    }

    /// See `onEnd(_:order:_:)`.
    ///
    /// - Parameter limit: the time after which `body` counts as failed, in milliseconds.
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

    /// Ends the session for every process. Works offline and while the vault or a keyring is locked. Ending a session
    /// that has already ended is not an error.
    ///
    /// After the end, the hooks run, and the token is revoked at the server or queued for revocation.
    ///
    /// - Parameter isLocalOnly: if true, no revocation is sent to the server, neither now nor later.
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/io``, ``TokenKeepError/Status/busy`` or another failure
    ///   of the vault if the end could not be recorded. The session is then unchanged.
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
