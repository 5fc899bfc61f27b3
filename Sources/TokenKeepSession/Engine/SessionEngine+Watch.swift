public import TokenKeepCore
import TokenKeepRecords

/// The watch of one handle: the signal of changes, and the session's state as last reported.
struct Watched {
    let signal: SessionSignal
    var last: SessionInfo?
}

extension SessionEngine {
    /// A descriptor that becomes readable (poll(2)) after any process has changed a session. Owned by this object.
    ///
    /// - Throws: ``Status/io`` if the system allows no more watches.
    public func watchDescriptor() throws(TokenKeepError) -> Int32 { try SessionSignal.of(self).descriptor }

    /// Returns the session's state if it differs from the last report; nil if it does not. The first call reports the
    /// state.
    ///
    /// Changes by TokenKeep make the descriptor readable. Another program's change of the record is seen at the next
    /// call.
    public func nextState() throws(TokenKeepError) -> SessionInfo? {
        try SessionSignal.of(self).drain()
        let info = try info()
        return watched.withLock { watched in
            guard !info.isSame(as: watched?.last) else { return nil }
            watched?.last = info
            return info
        }
    }
}

extension SessionSignal {
    /// Returns the signal of a handle's watch. Begins the watch at the first call.
    fileprivate static func of(_ session: SessionEngine) throws(TokenKeepError) -> SessionSignal {
        if let signal = session.watched.withLock({ $0?.signal }) { return signal }
        let made = try SessionSignal(session.store.records, session.begin())
        return session.watched.withLock { watched in
            // Another thread may have begun the watch meanwhile, and its signal is kept.
            let signal = watched?.signal ?? made
            if watched == nil { watched = Watched(signal: signal) }
            return signal
        }
    }
}
