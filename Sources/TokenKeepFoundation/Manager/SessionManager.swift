import Foundation
public import Observation
public import TokenKeep

/// The accounts of an application, and the state that its views show.
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
/// Tokens are renewed by the `TokenSession` of the present account: by one process, in three tries, and a failure of the
/// network signs nobody out. Passwords stay in the application's closure.
@MainActor @Observable
public final class SessionManager<User: Codable & Sendable> {
    /// The state of the present account's session.
    public private(set) var state = TokenSession.State.unknown
    /// The reason why the session ended.
    public private(set) var endReason = TokenSession.Reason.none
    /// The user; nil if nobody is signed in, or the user was not set.
    public private(set) var currentUser: User?
    /// The limits of the present guest; nil if the server told none, or no guest is signed in.
    public private(set) var limitations: GuestLimitations?
    /// The accounts that are signed in, or must sign in again.
    public private(set) var accounts: [String] = []
    /// The account of the present session; nil if there is none.
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

    /// The session of the present account; nil if there is none.
    public var session: TokenSession? { bound?.session }
    /// The client of the present account; nil if there is none.
    public var client: SessionClient? { bound?.client }
    /// The present account's session with the application's objects; nil if there is none.
    public var observed: ObservedSession? { bound?.observed }
    /// The events of all accounts from now on. A reader that is slow gets the newest 256.
    public var events: AsyncStream<SessionEvent> { broadcast.stream() }

    /// Takes up the active account of an earlier run of the application. Asks no server.
    ///
    /// - Returns: the state: `signedOut` if no account is active, `locked` if the keyring or the vault is locked.
    /// - Throws: `TokenKeepError` if the session cannot be read for another reason; ``APIError/invalidURL`` for an origin
    ///   of the options.
    @discardableResult public func restore() async throws -> TokenSession.State {
        do {
            let account = try await TokenSessions(store: reference.store()).active(of: service)
            try await bind(open(account))
        } catch TokenKeepError.Status.notFound {
            try await unbind(.signedOut)
        } catch TokenKeepError.Status.locked {
            try await unbind(.locked)
        }
        return state
    }

    /// Signs in with the application's closure, which asks the server. The account becomes the active one.
    ///
    /// A guest of the same account becomes the user by one write. A guest of another account ends. After an error of the
    /// closure everything is as before.
    ///
    /// - Throws: the closure's error, or `TokenKeepError` if the session cannot be saved.
    public func login(_ signIn: @Sendable () async throws -> SignIn<User>) async throws {
        let result = try await signIn()
        let user = try JSONEncoder().encode(result.user)
        try await begin(.user, result.account, result.response, ["user": user])
    }

    /// Begins the session of a guest with the application's closure, which asks the server.
    ///
    /// - Parameters:
    ///   - account: nil for the active account, or for an application with one account.
    ///   - user: the user that the application shows for a guest.
    /// - Throws: the closure's error, or `TokenKeepError` if the session cannot be saved.
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

    /// Makes another account the active one.
    ///
    /// - Throws: `TokenKeepError`, `notFound`, if nobody is signed in as the account.
    public func switchAccount(_ account: String) async throws {
        try await TokenSessions(store: reference.store()).makeActive(service: service, account: account)
        try await bind(open(account))
    }

    /// An access token that lasts `minTTL`, renewed before if it ends soon.
    ///
    /// - Throws: the errors of `TokenSession.token(minTTL:)`.
    public func accessToken(minTTL: Duration = .zero) async throws -> TokenSession.Token {
        try await present().token(minTTL: minTTL)
    }

    /// Renews the token now: three tries, then an error. A failure of the network signs nobody out.
    ///
    /// - Throws: the errors of `TokenSession.refresh()`.
    public func refreshAccessToken() async throws { _ = try await present().refresh() }

    /// Sets the user of the present session, for example after the server changed it.
    public func updateUser(_ user: User) async throws {
        guard let bound else { throw nobody }
        try await bound.observed.update(user, of: .user)
        currentUser = user
    }

    /// Signs the present account out: cancels its requests, deletes the data that the options name, and revokes the token
    /// at the server, or queues it for that. Works offline. Does nothing if nobody is signed in.
    ///
    /// - Returns: the report; nil if nobody was signed in.
    /// - Throws: `TokenKeepError` if the state cannot be written; the session is as it was then.
    @discardableResult public func logout(isLocalOnly: Bool = false) async throws -> TokenSession.Report? {
        if bound == nil { try await restore() }
        guard let bound else { return nil }
        let report = try await bound.session.end(isLocalOnly: isLocalOnly)
        if self.bound === bound { try await unbind(.signedOut, .logout) }
        return report
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
        let guest = state == .guest ? bound?.session : nil
        let session = try await open(account ?? activeAccount ?? "")
        let next = try BoundSession(session, options, broadcast)
        try await session.begin(kind, response: response)
        try await next.observed.set(objects, removingOthers: true)
        try await TokenSessions(store: reference.store()).makeActive(service: service, account: session.account)
        if let guest, guest.account != session.account { _ = try? await guest.end(isLocalOnly: true) }
        try await bind(next)
    }

    private func bind(_ session: TokenSession) async throws {
        try await bind(BoundSession(session, options, broadcast))
    }

    private func bind(_ next: BoundSession) async throws {
        // The engine clears a guest whose time is over.
        if try await next.session.state == .guest { _ = try? await next.session.token() }
        bound?.stop()
        bound = next
        activeAccount = next.session.account
        try await show(next.session.info, of: next)
        accounts = try await listedAccounts()
        watch(next)
    }

    private func unbind(_ state: TokenSession.State, _ reason: TokenSession.Reason = .none) async throws {
        bound?.stop()
        bound = nil
        activeAccount = nil
        (currentUser, limitations) = (nil, nil)
        (self.state, endReason) = (state, reason)
        accounts = try await listedAccounts()
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
                // Nothing is shown any more; each call tells the reason.
            }
        }
        guard options.renewsAhead, options.session.transport != nil else { return }
        bound.start { _ = try? await session.run() }
    }

    /// Shows a state of the present session.
    private func show(_ info: TokenSession.Info, of bound: BoundSession) async throws {
        guard self.bound === bound else { return }
        let before = state
        var user: User?
        var limits: GuestLimitations?
        if info.state == .user || info.state == .guest {
            user = try await bound.observed.value(of: .user, as: User.self).value
            limits = info.state == .guest ? try? await bound.observed.profile.object("limitations") : nil
        }
        guard self.bound === bound else { return }
        (state, endReason, currentUser, limitations) = (info.state, info.reason, user, limits)
        guard before == .user || before == .guest else { return }
        switch info.state {
        case .signedOut:
            // By another process, whose hooks are not this program's.
            bound.client.cancelAll()
            broadcast.send(.authenticationRequired)
        case .needsLogin: broadcast.send(.sessionExpired)
        default: break
        }
    }

    private func listedAccounts() async throws -> [String] {
        try await TokenSessions(store: reference.store()).list(service: service).sessions
            .filter { $0.state != .signedOut }.map(\.account)
    }
}
