public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The session of one account: its tokens and their life.
///
/// Every call runs on the caller's thread and returns by the session's timeout. Several threads and processes may use
/// the same session at once: one of them renews the token, the others get the new one.
public final class Session: Sendable {
    /// A token that was read, and the slot's value at that time.
    private struct Kept {
        let record: KeptToken
        let slot: UInt64
    }

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
    private let kept: MutexGuarded<Kept?>
    /// Cancels the calls on this handle; nil for the cancellation of the store.
    private let cancellation: Cancellation?

    /// Opens the session of an account; nil for the active account of the service.
    ///
    /// - Throws: ``Status/notFound`` if no account is active, ``Status/locked`` if the active account's name is locked.
    public init(
        _ store: Store, service: String, account: String?, _ options: SessionOptions = SessionOptions()
    ) throws(TokenKeepError) {
        self.store = store
        self.options = options
        kept = MutexGuarded(nil)
        hooks = MutexGuarded([])
        watched = MutexGuarded(nil)
        cancellation = nil
        files = SessionFiles(store.records)
        slots = store.sessionSlots
        let call = try Session.call(store, options)
        let account =
            if let account { account } else { try Sessions(store).activeAccount(of: service, call) }
        name = try ItemName(namespace: store.namespace, service: service, account: account)
        id = try files.id(of: name, call)
        stash = SessionStash(store.records, id: id)
    }

    private init(_ other: Session, _ cancellation: Cancellation, watched: MutexGuarded<Watched?>) {
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
    /// - Throws: ``Status/notFound`` if nobody is signed in, ``Status/needsLogin``, ``Status/expired``,
    ///   ``Status/busy`` if another process holds the refresh past the deadline, ``Status/unavailable``.
    public func token(minTTL: UInt32 = 0) throws(TokenKeepError) -> SessionToken {
        if let token = keptToken(minTTL: Int64(minTTL)) { return token }
        let call = try begin()
        let view = try read(call)
        let record = try live(view)
        let now = options.clock()
        if record.life.isGood(at: now, minTTL: Int64(minTTL)) { return keep(view, record, minTTL) }
        guard record.kind == .user else { return try guestToken(view, record, minTTL, call) }
        guard record.refreshToken != nil else {
            guard record.life.left(at: now) != 0 else { throw Session.ended(name, .expired) }
            return keep(view, record, minTTL)
        }
        if record.life.isYoung(at: now), record.life.left(at: now) != 0 { return keep(view, record, minTTL) }
        do throws(TokenKeepError) {
            let renewed = try Renewal(self, call).run(view, stale: record.accessToken)
            return keep(renewed.view, renewed.record, minTTL)
        } catch {
            guard error.status != .needsLogin, error.status != .notFound else { throw error }
            let present = try stillValid(record, call, orThrow: error)
            options.explain?("the refresh failed: \(error.message); the present token is still valid")
            return made(KeptToken(present, sealingKey: nil), minTTL)
        }
    }

    /// The token in hand after a refresh that failed, or the one that another process saved meanwhile. A logout during
    /// the request ends the use of both.
    private func stillValid(
        _ record: SessionRecord, _ call: CallContext, orThrow failure: TokenKeepError
    ) throws(TokenKeepError) -> SessionRecord {
        var present = record
        do throws(TokenKeepError) {
            present = try live(read(call))
        } catch {
            // The record cannot be read now. The note says whether the session ended during the request.
            let noted = try note()
            let epoch = noted?.epoch ?? record.epoch
            guard ![.notFound, .needsLogin, .expired].contains(error.status), epoch == record.epoch else {
                throw error
            }
        }
        guard present.life.left(at: options.clock()) != 0 else { throw failure }
        return present
    }

    /// Renews the token now, whatever its age. A renewal by another process meanwhile counts.
    ///
    /// - Throws: as ``token(minTTL:)``; ``Status/unsupported`` without a transport, or if the session is valid and has
    ///   no refresh token.
    public func refresh() throws(TokenKeepError) -> SessionToken {
        let call = try begin()
        let view = try read(call)
        let record = try live(view)
        guard record.kind == .user else {
            _ = try guestToken(view, record, 0, call)
            throw cannotRenew("it is a guest's")
        }
        guard record.refreshToken != nil else {
            guard record.life.left(at: options.clock()) != 0 else { throw Session.ended(name, .expired) }
            throw cannotRenew("it has no refresh token")
        }
        return try renewed(view, record.accessToken, isRejected: false, call)
    }

    private func cannotRenew(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the session of \(name) cannot be renewed: \(reason)",
            hint: "the present token is valid: tokenkeep session token")
    }

    /// Returns a token in place of one that the server refused with 401.
    ///
    /// If the session has another token already, that one is returned without a request. Retry the server once.
    ///
    /// - Throws: as ``token(minTTL:)``.
    public func rejected(_ refused: SecretBytes) throws(TokenKeepError) -> SessionToken {
        let call = try begin()
        let view = try read(call)
        let record = try live(view)
        guard record.accessToken == refused else {
            options.explain?("adopted the token that was saved since, generation \(record.generation)")
            return keep(view, record, 0)
        }
        guard record.kind == .user else {
            guard try clearGuest(view, call) else { return try token() }
            throw Session.guestIsOver(name)
        }
        guard record.refreshToken != nil else { throw try expire(view, call) }
        return try renewed(view, refused, isRejected: true, call)
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

    private func renewed(
        _ view: SessionView, _ stale: SecretBytes, isRejected: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> SessionToken {
        let renewed = try Renewal(self, call).run(view, stale: stale, isRejected: isRejected)
        return keep(renewed.view, renewed.record, 0)
    }

    private func guestToken(
        _ view: SessionView, _ record: SessionRecord, _ minTTL: UInt32, _ call: CallContext
    ) throws(TokenKeepError) -> SessionToken {
        guard record.life.left(at: options.clock()) == 0 else { return keep(view, record, minTTL) }
        guard try clearGuest(view, call) else { return try token(minTTL: minTTL) }
        throw Session.guestIsOver(name)
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

    // MARK: The kept token

    /// The kept token, if no other process changed the session since and the token is good.
    private func keptToken(minTTL: Int64) -> SessionToken? {
        guard store.isUsable, let kept = kept.withLock({ $0 }), kept.slot == slots.value(of: id) else { return nil }
        let record = kept.record
        guard record.life.isGood(at: options.clock(), minTTL: minTTL), isReadable(record) else { return nil }
        return made(record, UInt32(clamping: minTTL))
    }

    /// Whether the class key of a sealed token is still there: a lock must end its use in every process.
    private func isReadable(_ record: KeptToken) -> Bool {
        record.sealingKey?.isOpen ?? true
    }

    /// Keeps a token for later calls, and returns it.
    private func keep(_ view: SessionView, _ record: SessionRecord, _ minTTL: UInt32) -> SessionToken {
        let token = KeptToken(record, sealingKey: view.sealingKey)
        if let slot = view.slot, view.isKeepable { kept.withLock { $0 = Kept(record: token, slot: slot) } }
        return made(token, minTTL)
    }

    private func made(_ record: KeptToken, _ minTTL: UInt32) -> SessionToken {
        let left = record.life.left(at: options.clock())
        return SessionToken(
            value: record.value, type: record.type, scope: record.scope, secondsLeft: left,
            generation: record.generation, isShort: left.map { $0 < max(1, Int64(minTTL)) } ?? false)
    }

    // MARK: Calls

    /// The context of a call that begins now.
    func begin() throws(TokenKeepError) -> CallContext {
        let call = try Session.call(store, options)
        guard let cancellation else { return call }
        let deadline = call.deadline.cancelled(by: cancellation)
        try deadline.checkCancellation()
        return CallContext(deadline: deadline)
    }

    static func call(_ store: Store, _ options: SessionOptions) throws(TokenKeepError) -> CallContext {
        guard store.isUsable else {
            throw TokenKeepError(.forked, "the store was opened before fork()", hint: "open another one in the child")
        }
        return CallContext(
            deadline: Deadline(milliseconds: options.timeoutMilliseconds, cancellation: store.cancellation))
    }

    /// The error of a session that ended.
    static func ended(_ name: ItemName, _ reason: SessionReason) -> TokenKeepError {
        let words = reason.word.map { " (\($0))" } ?? ""
        let status: Status = reason == .expired ? .expired : .needsLogin
        return TokenKeepError(
            status, "the session of \(name) is over\(words)",
            hint: "sign in again: tokenkeep session begin SERVICE ACCOUNT")
    }

    static func guestIsOver(_ name: ItemName) -> TokenKeepError {
        TokenKeepError(.notFound, "the guest session of \(name) is over", hint: "begin another one")
    }
}

/// A token that a handle keeps.
struct KeptToken: Sendable {
    let value: SecretBytes
    let type: String
    let scope: String?
    let generation: UInt64
    let life: TokenLife
    /// The key that must be open for the token to be used; nil if none must.
    let sealingKey: ResidentKey?

    init(_ record: SessionRecord, sealingKey: ResidentKey?) {
        value = record.accessToken
        type = record.tokenType
        scope = record.scope
        generation = record.generation
        life = record.life
        self.sealingKey = sealingKey
    }
}
