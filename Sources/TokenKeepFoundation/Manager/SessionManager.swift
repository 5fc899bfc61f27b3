import Foundation
public import Observation
public import TokenKeep

/// Manages the accounts of an application, and publishes the state that its views show.
///
/// ```swift
/// let manager = SessionManager<User>(service: "api.example.com", options: options)
/// try await manager.restore()
/// try await manager.login {
///     let answer = try await api.login(email: email, password: password)
///     return try SignIn(
///         account: email, accessToken: answer.accessToken, refreshToken: answer.refreshToken,
///         expiresIn: .seconds(answer.expiresIn), user: answer.user)
/// }
/// ```
///
/// The `TokenSession` of the present account renews tokens: only one process renews at a time, in up to three attempts,
/// and a network failure does not sign the user out. Passwords are handled only by the application's closure.
@MainActor @Observable
public final class SessionManager<User: Codable & Sendable> {
    /// The state of the present account's session.
    public private(set) var state = TokenSession.State.unknown
    /// The reason why the session ended.
    public private(set) var endReason = TokenSession.Reason.none
    /// The signed-in user; nil if nobody is signed in, or if no user of this type is stored.
    public private(set) var currentUser: User?
    /// The limits of the present guest; nil if the server set no limits, or if no guest is signed in.
    public private(set) var limitations: GuestLimitations?
    /// The accounts of the service that are signed in or must sign in again.
    public private(set) var accounts: [String] = []
    /// The account of the present session; nil if there is no session.
    public private(set) var activeAccount: String?

    /// Whether a user or a guest is signed in.
    public var isAuthenticated: Bool { state == .user || state == .guest }

    /// The service of the sessions.
    @ObservationIgnored public let service: String
    @ObservationIgnored private let reference: StoreReference
    @ObservationIgnored private let options: SessionManagerOptions
    @ObservationIgnored private let broadcast = Broadcast<SessionEvent>()
    @ObservationIgnored private var bound: BoundSession?

    /// Makes a manager for the default stack. The store is opened by the first call.
    public init(service: String, namespace: String = "", options: SessionManagerOptions = SessionManagerOptions()) {
        self.service = service
        self.options = options
        reference = StoreReference(namespace: namespace)
    }

    /// Makes a manager for a store.
    public init(service: String, store: TokenStore, options: SessionManagerOptions = SessionManagerOptions()) {
        self.service = service
        self.options = options
        reference = StoreReference(store)
    }

    /// The session of the present account; nil if there is no present account.
    public var session: TokenSession? { bound?.session }
    /// The client that sends requests of the present account; nil if there is no present account.
    public var client: SessionClient? { bound?.client }
    /// The present account's queue of requests that could not be sent yet; nil if there is no present account.
    public var queue: OfflineQueue? { bound?.queue }
    /// The present account's session with the application's objects; nil if there is no present account.
    public var observed: ObservedSession? { bound?.observed }
    /// A stream of the events of all accounts from now on, with at most one event for each request. If the reader is
    /// slow, only the latest 256 events are kept.
    public var events: AsyncStream<SessionEvent> { broadcast.stream() }

    /// Restores the active account of an earlier run of the application. Sends no request.
    ///
    /// - Returns: the new ``state``: `signedOut` if no account is active, `locked` if the keyring or the vault is
    ///   locked.
    /// - Throws: `TokenKeepError` if the session cannot be read for another reason, such as `corrupt`;
    ///   ``APIError/invalidURL`` if an origin in the options is neither https nor this machine.
    @discardableResult public func restore() async throws -> TokenSession.State {
        let before = bound
        do {
            let account = try await TokenSessions(store: reference.store()).active(of: service)
            try await bind(open(account))
        } catch TokenKeepError.Status.notFound {
            try await unbind(before, .signedOut)
        } catch TokenKeepError.Status.locked {
            try await unbind(before, .locked)
        }
        return state
    }

    /// Signs in with the application's closure, which sends the request to the server. The account becomes the active
    /// account.
    ///
    /// If a guest with the same account is present, the guest becomes a user in one write. If the present guest has
    /// another account, the guest's session ends. If the closure throws, nothing changes. The user is written after the
    /// tokens. A crash between the two writes leaves a session without a user; ``updateUser(_:)`` can set the user
    /// later.
    ///
    /// - Throws: the closure's error, or the `TokenKeepError` of `TokenSession.begin(_:response:)`, such as `invalid`,
    ///   `locked` or `busy`.
    public func login(_ signIn: @Sendable () async throws -> SignIn<User>) async throws {
        let result = try await signIn()
        let user = try JSONEncoder().encode(result.user)
        try await begin(.user, result.account, result.response, ["user": user])
    }

    /// Begins a guest's session with the application's closure, which sends the request to the server.
    ///
    /// - Parameters:
    ///   - account: the account of the guest; nil for the active account, or "" if no account is active.
    ///   - user: the user that the application shows for a guest.
    ///   - ask: requests a guest's token from the server.
    /// - Throws: the errors of ``login(_:)``.
    public func continueAsGuest(
        account: String? = nil, user: User? = nil, _ ask: @Sendable () async throws -> GuestResponse
    ) async throws {
        let answer = try await ask()
        let tokens = Tokens(
            access_token: answer.guestToken, refresh_token: nil, expires_in: Int64(answer.expiresIn ?? 900))
        let objects = [
            "user": try user.map { try JSONEncoder().encode($0) },
            "limitations": try answer.limitations.map { try JSONEncoder().encode($0) },
        ]
        try await begin(.guest, account, CodableSecret.encode(tokens), objects)
    }

    /// Makes another account the active account.
    ///
    /// - Throws: `TokenKeepError` with `notFound` if nobody is signed in as the account; otherwise the errors of
    ///   ``restore()``.
    public func switchAccount(_ account: String) async throws {
        try await TokenSessions(store: reference.store()).makeActive(service: service, account: account)
        try await bind(open(account))
    }

    /// Returns an access token that is valid for at least `minTTL`. If the present token ends sooner, renews it first.
    ///
    /// - Throws: the errors of `TokenSession.token(minTTL:)`, such as `notFound` if nobody is signed in.
    public func accessToken(minTTL: Duration = .zero) async throws -> TokenSession.Token {
        try await present().token(minTTL: minTTL)
    }

    /// Renews the token now, in up to three attempts. A network failure does not sign the user out.
    ///
    /// - Throws: the errors of `TokenSession.refresh()`.
    public func refreshAccessToken() async throws { _ = try await present().refresh() }

    /// Sets the user of the present session, for example after the server has changed the user.
    ///
    /// - Throws: `TokenKeepError` with `notFound` if nobody is signed in; otherwise the errors of
    ///   ``ObservedSession/update(_:of:)``.
    public func updateUser(_ user: User) async throws {
        guard let bound else { throw nobody }
        try await bound.observed.update(user, of: .user)
        currentUser = user
    }

    /// Signs the present account out. Works offline. Does nothing if nobody is signed in.
    ///
    /// Cancels the account's requests, deletes the data that the options name, and revokes the token at the server or
    /// queues it for revocation.
    ///
    /// - Returns: the report; nil if nobody was signed in.
    /// - Throws: `TokenKeepError` with `io`, `busy` or another status if the end cannot be recorded. The session is
    ///   then unchanged.
    @discardableResult public func logout(isLocalOnly: Bool = false) async throws -> TokenSession.Report? {
        if bound == nil { try await restore() }
        guard let bound else { return nil }
        // The watch is stopped first, so that the manager's own logout is not reported as an event.
        bound.stop()
        do {
            let report = try await bound.session.end(isLocalOnly: isLocalOnly)
            try await unbind(bound, .signedOut, .logout)
            return report
        } catch {
            if self.bound === bound { watch(bound) }
            throw error
        }
    }
}

extension SessionManager {
    private var nobody: TokenKeepError {
        TokenKeepError(.notFound, "nobody is signed in at \(service)", recoverySuggestion: "sign in")
    }

    private func present() throws -> TokenSession {
        guard let bound else { throw nobody }
        return bound.session
    }

    private func open(_ account: String) async throws -> TokenSession {
        try await TokenSession(
            store: reference.store(), service: service, account: account, options: options.session)
    }

    private func begin(
        _ kind: TokenSession.Kind, _ account: String?, _ response: TokenStore.Secret, _ objects: [String: Data?]
    ) async throws {
        let profile = try SessionProfile.profile(objects)
        let before = state == .guest ? bound : nil
        let session = try await open(account ?? activeAccount ?? "")
        let next = try BoundSession(session, options, broadcast)
        try await session.begin(kind, response: response)
        try await next.observed.profile.replace(profile)
        try await TokenSessions(store: reference.store()).makeActive(service: service, account: session.account)
        if let before, before.session.account != session.account { await end(before) }
        try await bind(next)
    }

    /// Ends the session of a guest who is replaced by a user.
    ///
    /// Uses a new handle of the session without hooks, because the hooks of the present handle would delete the cookies
    /// of the new sign-in.
    private func end(_ guest: BoundSession) async {
        guest.stop()
        guest.client.cancelAll()
        _ = try? await open(guest.session.account).end(isLocalOnly: true)
    }

    private func bind(_ session: TokenSession) async throws {
        try await bind(BoundSession(session, options, broadcast))
    }

    private func bind(_ next: BoundSession) async throws {
        // If the guest's token has expired, `token()` clears the guest's session, so that the views do not show the
        // guest.
        if try await next.session.state == .guest { _ = try? await next.session.token() }
        bound?.stop()
        bound = next
        activeAccount = next.session.account
        accounts = try await listedAccounts()
        try await show(next.session.info, of: next)
        if bound === next { watch(next) }
    }

    /// Removes an ended session, unless another session has already replaced it.
    private func unbind(
        _ ended: BoundSession?, _ state: TokenSession.State, _ reason: TokenSession.Reason = .none
    ) async throws {
        let accounts = try await listedAccounts()
        guard bound === ended else { return }
        ended?.stop()
        bound = nil
        activeAccount = nil
        (currentUser, limitations, self.accounts) = (nil, nil, accounts)
        (self.state, endReason) = (state, reason)
    }

    private func watch(_ bound: BoundSession) {
        let session = bound.session
        bound.start { [weak self, weak bound] in
            do {
                for try await info in session.states {
                    guard let self, let bound else { return }
                    try await self.show(info, of: bound)
                }
            } catch {
                // The views are no longer updated. The error is not reported here, because each later call of the
                // session throws it.
            }
        }
        guard options.renewsAhead, options.session.transport != nil else { return }
        bound.start { _ = try? await session.run() }
    }

    /// Publishes a state of the present session to the views.
    private func show(_ info: TokenSession.Info, of bound: BoundSession) async throws {
        guard self.bound === bound else { return }
        let wasAuthenticated = isAuthenticated
        if info.state == .signedOut {
            // If another process has ended the session, this program's hooks did not run, so the requests are cancelled
            // here.
            bound.client.cancelAll()
            try await unbind(bound, .signedOut, info.reason)
            if wasAuthenticated { broadcast.send(.authenticationRequired) }
            return
        }
        let isSignedIn = info.state == .user || info.state == .guest
        let user = isSignedIn ? try await storedUser(of: bound) : nil
        let limits: GuestLimitations? =
            info.state == .guest ? try? await bound.observed.profile.object("limitations") : nil
        guard self.bound === bound, !Task.isCancelled else { return }
        (state, endReason, currentUser, limitations) = (info.state, info.reason, user, limits)
        if wasAuthenticated, info.state == .needsLogin { broadcast.send(.sessionExpired) }
    }

    /// The stored user; nil if no user is stored, or if the stored value is of another type, for example from an
    /// earlier version of the application.
    private func storedUser(of bound: BoundSession) async throws -> User? {
        do {
            return try await bound.observed.value(of: .user, as: User.self).value
        } catch TokenKeepError.Status.corrupt {
            return nil
        }
    }

    private func listedAccounts() async throws -> [String] {
        try await TokenSessions(store: reference.store()).list(service: service).sessions
            .filter { $0.state != .signedOut }.map(\.account)
    }
}
