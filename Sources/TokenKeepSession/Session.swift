public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The session of one account: its tokens and their life.
///
/// Every call runs on the caller's thread and returns by the session's timeout. Several threads and processes may use
/// the same session at once: one of them renews the token, the others get the new one.
public final class Session: Sendable {
    /// The names of the session's item.
    public let name: ItemName
    package let store: Store
    package let options: SessionOptions
    let files: SessionFiles
    let slots: SessionSlots
    let id: [UInt8]
    let hooks: MutexGuarded<[EndHook]>
    /// The watch of ``nextState()``.
    let watched: MutexGuarded<Watched?>
    let stash: SessionStash
    let kept: MutexGuarded<KeptTokens>
    /// Cancels the calls on this handle; nil for the cancellation of the store.
    private let cancellation: Cancellation?
    /// Whether loads may prompt: not while a lock of the session is held.
    let mayPrompt: Bool

    /// Opens the session of an account; nil for the active account of the service.
    ///
    /// - Throws: ``Status/notFound`` if no account is active, ``Status/locked`` if the active account's name is locked.
    public init(
        _ store: Store, service: String, account: String?, _ options: SessionOptions = SessionOptions()
    ) throws(TokenKeepError) {
        self.store = store
        self.options = options
        kept = MutexGuarded(KeptTokens())
        hooks = MutexGuarded([])
        watched = MutexGuarded(nil)
        cancellation = nil
        mayPrompt = true
        files = SessionFiles(store.records)
        slots = store.sessionSlots
        let call = try Session.call(store, options)
        let account =
            if let account { account } else { try Sessions(store).activeAccount(of: service, call) }
        name = try ItemName(namespace: store.namespace, service: service, account: account)
        id = try files.id(of: name, call)
        stash = SessionStash(store.records, id: id)
        if options.transport != nil { store.openSessions.add(self) }
    }

    private init(
        _ other: Session, _ cancellation: Cancellation?, watched: MutexGuarded<Watched?>, mayPrompt: Bool = true
    ) {
        name = other.name
        store = other.store
        options = other.options
        files = other.files
        slots = other.slots
        id = other.id
        hooks = other.hooks
        self.watched = watched
        kept = other.kept
        stash = other.stash
        self.cancellation = cancellation
        self.mayPrompt = mayPrompt
    }

    /// The same handle, for calls under a lock of the session: they never prompt.
    var withoutPrompts: Session {
        mayPrompt ? Session(self, cancellation, watched: watched, mayPrompt: false) : self
    }

    /// Runs `body`, which locks the session, without prompts. If a place is locked, asks the user to open it, and runs
    /// `body` again.
    func prompting<Value>(
        _ call: CallContext, _ body: (Session) throws(TokenKeepError) -> Value
    ) throws(TokenKeepError) -> Value {
        do throws(TokenKeepError) {
            return try body(withoutPrompts)
        } catch {
            guard try store.askToOpen(name, after: error, until: call.deadline) else { throw error }
        }
        return try body(withoutPrompts)
    }

    /// The same handle, for calls that `cancellation` cancels.
    package func cancelled(by cancellation: Cancellation) -> Session {
        Session(self, cancellation, watched: watched)
    }

    /// The same handle with a watch of its own, for calls that `cancellation` cancels.
    package func watching(until cancellation: Cancellation) -> Session {
        Session(self, cancellation, watched: MutexGuarded(nil))
    }

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
        if let token = keptToken(target, minTTL: Int64(minTTL)) { return token }
        return try token(minTTL: minTTL, for: target, begin())
    }

    /// ``token(minTTL:for:)`` as a part of a call, without the kept token.
    private func token(
        minTTL: UInt32, for target: TokenTarget?, _ call: CallContext
    ) throws(TokenKeepError) -> SessionToken {
        let view = try read(call)
        let record = try live(view)
        let present = try record.access(for: target)
        switch TokenRules.asked(facts(record, present, target, minTTL: Int64(minTTL))) {
        case .use: return try keep(view, record, target, minTTL)
        case .clearGuest:
            guard try clearGuest(view, call) else { return try token(minTTL: minTTL, for: nil, call) }
            throw Session.guestIsOver(name)
        case .ended: throw Session.ended(name, .expired)
        case .isGuest: throw guestCannotRenew
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        case .renew: break
        }
        do throws(TokenKeepError) {
            let renewed = try Renewal(self, for: target, call).run(view, stale: present?.value)
            return try keep(renewed.view, renewed.record, target, minTTL)
        } catch {
            guard error.status != .needsLogin, error.status != .notFound else { throw error }
            return try made(afterFailure(error, record, target, call), target, minTTL)
        }
    }

    /// The facts for ``TokenRules``.
    private func facts(
        _ record: SessionRecord, _ access: AccessToken?, _ target: TokenTarget?, minTTL: Int64 = 0
    ) -> TokenRules.Facts {
        let now = options.clock()
        return TokenRules.Facts(
            kind: record.kind, access: TokenRules.Access(access?.life, at: now, minTTL: minTTL),
            isForTarget: target != nil, canRenew: record.canRenew, isSignInOver: record.life.left(at: now) == 0)
    }

    /// ``token(minTTL:for:)`` as a part of a call.
    func presentToken(for target: TokenTarget? = nil, _ call: CallContext) throws(TokenKeepError) -> SessionToken {
        if let token = keptToken(target, minTTL: 0) { return token }
        return try token(minTTL: 0, for: target, call)
    }

    /// The token in hand after a refresh that failed, or the one that another process saved meanwhile. A logout during
    /// the request ends the use of both.
    private func afterFailure(
        _ failure: TokenKeepError, _ record: SessionRecord, _ target: TokenTarget?, _ call: CallContext
    ) throws(TokenKeepError) -> KeptToken {
        let (present, state, problem) = try reread(record, call)
        guard let access = try present.access(for: target) else { throw problem ?? failure }
        switch TokenRules.failed(state, TokenRules.Access(access.life, at: options.clock(), minTTL: 0)) {
        case .end: throw problem ?? failure
        case .failure: throw failure
        case .use: break
        }
        options.explain?("the refresh failed: \(failure.message); the present token is still valid")
        return KeptToken(access, generation: present.generation, sealingKey: nil)
    }

    /// The session after a renewal that failed. If the record cannot be read, the note says whether the session goes on.
    private func reread(
        _ record: SessionRecord, _ call: CallContext
    ) throws(TokenKeepError) -> (SessionRecord, TokenRules.Reread, TokenKeepError?) {
        do throws(TokenKeepError) {
            return (try live(read(call)), .live, nil)
        } catch {
            let epoch = try note()?.epoch ?? record.epoch
            let isOver = [.notFound, .needsLogin, .expired].contains(error.status) || epoch != record.epoch
            return (record, isOver ? .ended : .unreadable, error)
        }
    }

    /// Renews the token now, whatever its age. A renewal by another process meanwhile counts.
    ///
    /// - Throws: as ``token(minTTL:)``; ``Status/unsupported`` without a transport, or if the session is valid and has
    ///   no refresh token.
    public func refresh() throws(TokenKeepError) -> SessionToken {
        let call = try begin()
        let view = try read(call)
        let record = try live(view)
        switch try TokenRules.refreshAsked(facts(record, record.access(for: nil), nil)) {
        case .renew, .use: return try renewed(view, record.accessToken, nil, isRejected: false, call)
        case .clearGuest:
            throw try clearGuest(view, call) ? Session.guestIsOver(name) : guestCannotRenew
        case .isGuest: throw guestCannotRenew
        case .ended: throw Session.ended(name, .expired)
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        }
    }

    private var guestCannotRenew: TokenKeepError { cannotRenew("it is a guest's") }
    private var cannotRenewWithoutRefreshToken: TokenKeepError { cannotRenew("it has no refresh token") }

    private func cannotRenew(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the session of \(name) cannot be renewed: \(reason)",
            hint: "the present token is valid: tokenkeep session token")
    }

    /// Returns a token in place of one that the server refused with 401.
    ///
    /// If the session has another token already, that one is returned without a request. Retry the server once.
    ///
    /// - Parameter target: the use for which the token was given.
    /// - Throws: as ``token(minTTL:for:)``.
    public func rejected(
        _ refused: SecretBytes, for target: TokenTarget? = nil
    ) throws(TokenKeepError) -> SessionToken {
        try rejected(refused, for: target, begin())
    }

    /// ``rejected(_:for:)`` as a part of a call.
    func rejected(
        _ refused: SecretBytes, for target: TokenTarget? = nil, _ call: CallContext
    ) throws(TokenKeepError) -> SessionToken {
        let refused = try TokenResponse.bareToken(refused) ?? refused
        let view = try read(call)
        let record = try live(view)
        guard let present = try record.access(for: target), present.value == refused else {
            options.explain?("another token was saved since, generation \(record.generation)")
            // Not the kept token: until the slot is changed, after the record, it may be the refused one.
            return try token(minTTL: 0, for: target, call)
        }
        switch TokenRules.refused(facts(record, present, target)) {
        case .renew, .use: return try renewed(view, refused, target, isRejected: true, call)
        case .clearGuest:
            guard try clearGuest(view, call) else { return try token(minTTL: 0, for: nil, call) }
            throw Session.guestIsOver(name)
        case .ended: throw try expire(view, call)
        case .isGuest: throw guestCannotRenew
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        }
    }

    /// The state of the session, without its tokens. Asks no server.
    public func info() throws(TokenKeepError) -> SessionInfo {
        let call = try begin()
        let isActive = (try? Sessions(store).isActive(name, call)) == true
        do throws(TokenKeepError) {
            var view = try read(call)
            if view.isOver(at: options.clock()) {
                view.note.state = .needsLogin
                view.note.reason = .expired
            }
            if try stash.read() == nil { view.note.isStashed = false }
            return SessionInfo(name: name, view.note, state: view.state, isActive: isActive)
        } catch {
            guard error.status == .locked || error.status == .unavailable || error.status == .timedOut else {
                throw error
            }
            let note = try note() ?? SessionNote()
            let hidden: SessionState = error.status == .locked ? .locked : .unknown
            let isOver = note.state == .signedOut || note.state == .needsLogin
            return SessionInfo(name: name, note, state: isOver ? note.state : hidden, isActive: isActive)
        }
    }

    /// A number that each logout of the account replaces, and whether the last session has ended; nil if nobody has ever
    /// signed in. Reads the note alone, unless it must be rebuilt.
    package func lastLogout() throws(TokenKeepError) -> (mark: UInt32, isSignedOut: Bool)? {
        var present = try note()
        if present == nil {
            _ = try withoutPrompts.read(begin())
            present = try note()
        }
        return present.map { ($0.logoutMark, $0.state == .signedOut) }
    }

    private func renewed(
        _ view: SessionView, _ stale: SecretBytes, _ target: TokenTarget?, isRejected: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> SessionToken {
        let renewed = try Renewal(self, for: target, call).run(view, stale: stale, isRejected: isRejected)
        return try keep(renewed.view, renewed.record, target, 0)
    }

    /// Notes that the server refused a token that cannot be renewed. The record stays.
    private func expire(_ view: SessionView, _ call: CallContext) throws(TokenKeepError) -> TokenKeepError {
        _ = try changeNote(of: view, call) { note in
            note.state = .needsLogin
            note.reason = .expired
        }
        slots.change(id)
        return Session.ended(name, .expired)
    }

    // MARK: Calls

    /// The context of a call that begins now.
    package func begin() throws(TokenKeepError) -> CallContext {
        let call = try Session.call(store, options)
        guard let cancellation else { return call }
        let deadline = call.deadline.cancelled(by: cancellation)
        try deadline.checkCancellation()
        return CallContext(deadline: deadline)
    }

    static func call(_ store: Store, _ options: SessionOptions) throws(TokenKeepError) -> CallContext {
        try call(store, milliseconds: options.timeoutMilliseconds)
    }

    /// The context of a call that asks no server: it lasts as long as the store's calls.
    static func call(_ store: Store) throws(TokenKeepError) -> CallContext {
        try call(store, milliseconds: store.timeoutMilliseconds)
    }

    private static func call(_ store: Store, milliseconds: UInt32) throws(TokenKeepError) -> CallContext {
        guard store.isUsable else {
            throw TokenKeepError(.forked, "the store was opened before fork()", hint: "open another one in the child")
        }
        return CallContext(
            deadline: Deadline(milliseconds: milliseconds, cancellation: store.cancellation))
    }

    /// The error of a session that ended.
    ///
    /// - Parameter problem: the server's words; "" if there are none.
    static func ended(_ name: ItemName, _ reason: SessionReason, _ problem: String = "") -> TokenKeepError {
        let words = reason.word.map { " (\($0)\(problem.isEmpty ? "" : ": " + problem))" } ?? ""
        let status: Status = reason == .expired ? .expired : .needsLogin
        return TokenKeepError(
            status, "the session of \(name) is over\(words)",
            hint: "sign in again: tokenkeep session begin SERVICE ACCOUNT")
    }

    static func guestIsOver(_ name: ItemName) -> TokenKeepError {
        TokenKeepError(.notFound, "the guest session of \(name) is over", hint: "begin another one")
    }
}
