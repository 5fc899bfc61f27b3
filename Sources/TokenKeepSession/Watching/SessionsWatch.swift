public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepRecords

/// Waits for changes of all sessions of a service, or of all services. Safe from several threads.
public final class SessionsWatch: Sendable {
    private struct State {
        var view: SessionsView
        var known: [String: SessionInfo] = [:]
        var waiting: [SessionInfo] = []
    }

    private let store: Store
    private let signal: SessionSignal
    private let state: MutexGuarded<State>

    /// Begins to watch.
    ///
    /// - Throws: ``Status/io`` if the system allows no more watches.
    public init(_ store: Store, service: String? = nil) throws(TokenKeepError) {
        let sessions = Sessions(store)
        if let service { _ = try sessions.place(of: service) }
        self.store = store
        state = MutexGuarded(State(view: SessionsView(sessions, service: service)))
        signal = try SessionSignal(store.records, store.sessionCall())
    }

    /// Becomes readable (poll(2)) when ``next()`` may have an answer. Owned by this object.
    public var descriptor: Int32 { signal.descriptor }

    /// The next session that differs from its last report, at first each one; nil if nothing has changed. A session
    /// whose names are locked is reported when they open. A first sign-in that is being written is not reported yet.
    public func next() throws(TokenKeepError) -> SessionInfo? {
        if let waiting = state.withLock({ $0.waiting.popLast() }) { return waiting }
        let present = try changes().present
        return state.withLock { state in
            for info in present.reversed() {
                let name = "\(info.service)\0\(info.account)"
                guard info.state != .unknown, !info.isSame(as: state.known[name]) else { continue }
                state.known[name] = info
                state.waiting.append(info)
            }
            return state.waiting.popLast()
        }
    }

    /// The changes since the last call, among them first sign-ins that are being written; at first each session. Costs as
    /// much as the changed sessions do. For callers that do not call ``next()``.
    ///
    /// If names are locked, and the program gives the vault's password, the vault is unlocked.
    ///
    /// - Throws: the reason why the vault cannot be read.
    package func changes() throws(TokenKeepError) -> SessionChanges {
        signal.drain()
        var changes = try update()
        guard changes.hasLocked else { return changes }
        try store.unlocking.withGivenPassword(store.sessionCall())
        let opened = try update()
        changes.present += opened.present
        changes.gone += opened.gone
        (changes.hasLocked, changes.hasEnds) = (opened.hasLocked, opened.hasEnds)
        return changes
    }

    private func update() throws(TokenKeepError) -> SessionChanges {
        try state.withLock { state throws(TokenKeepError) in try state.view.update() }
    }
}
