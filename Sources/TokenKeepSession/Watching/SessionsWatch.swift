public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepRecords

/// Waits for changes of all sessions of a service, or of all services. Safe from several threads.
public final class SessionsWatch: Sendable {
    private struct State {
        var known: [String: SessionInfo] = [:]
        var waiting: [SessionInfo] = []
    }

    private let sessions: Sessions
    private let service: String?
    private let signal: SessionSignal
    private let state = MutexGuarded(State())

    /// Begins to watch.
    ///
    /// - Throws: ``Status/io`` if the system allows no more watches.
    public init(_ store: Store, service: String? = nil) throws(TokenKeepError) {
        sessions = Sessions(store)
        self.service = service
        signal = try SessionSignal(store.records, Session.call(store))
    }

    /// Becomes readable (poll(2)) when ``next()`` may have an answer. Owned by this object.
    public var descriptor: Int32 { signal.descriptor }

    /// The next session that differs from its last report, at first each one; nil if nothing has changed. A session
    /// whose names are locked is reported when they open. A first sign-in that is being written is not reported yet.
    public func next() throws(TokenKeepError) -> SessionInfo? {
        if let waiting = state.withLock({ $0.waiting.popLast() }) { return waiting }
        signal.drain()
        let present = try sessions.list(service: service).sessions
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
}
