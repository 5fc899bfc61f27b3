public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepRecords

/// Watches all sessions of a service, or of all services, for changes. Safe to use from several threads.
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
    /// - Throws: ``Status/io`` if the system's limit of file watches (inotify) is reached.
    public init(_ store: Store, service: String? = nil) throws(TokenKeepError) {
        let sessions = Sessions(store)
        if let service { _ = try sessions.place(of: service) }
        self.store = store
        state = MutexGuarded(State(view: SessionsView(sessions, service: service)))
        signal = try SessionSignal(store.records, store.sessionCall())
    }

    /// The file descriptor that becomes readable (poll(2)) when ``next()`` may return a session. This object owns and
    /// closes it.
    public var descriptor: Int32 { signal.descriptor }

    /// Returns the next session that has changed since it was last reported; nil if no session has changed. At first,
    /// each session is reported. A session whose name is locked is reported after it is unlocked. An account's first
    /// sign-in is reported after it is complete.
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

    /// Returns the sessions that have changed since the last call; the first call returns all. Includes first sign-ins
    /// that are still being written. Reads only the changed sessions. Do not combine with ``next()``.
    ///
    /// Unlocks the vault if names are locked and the program was given the vault's password.
    ///
    /// - Throws: the error of reading the vault.
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
