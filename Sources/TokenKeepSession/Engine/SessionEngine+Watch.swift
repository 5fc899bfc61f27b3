public import TokenKeepCore
import TokenKeepRecords

/// The watch of one handle: its signal, and the state that it reported last.
struct Watched {
    let signal: SessionSignal
    var last: SessionInfo?
}

extension SessionEngine {
    /// A descriptor that becomes readable (poll(2)) after a change of a session, by any process. Owned by this object.
    ///
    /// - Throws: ``Status/io`` if the system allows no more watches.
    public func watchDescriptor() throws(TokenKeepError) -> Int32 { try SessionSignal.of(self).descriptor }

    /// The session's state if it differs from the last report, at first the present; nil if nothing has changed.
    ///
    /// Changes by TokenKeep are signalled; another program's change of the record is seen at the next call.
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
    /// The signal of a handle's watch, which begins if there is none.
    fileprivate static func of(_ session: SessionEngine) throws(TokenKeepError) -> SessionSignal {
        if let signal = session.watched.withLock({ $0?.signal }) { return signal }
        let made = try SessionSignal(session.store.records, session.begin())
        return session.watched.withLock { watched in
            // Another thread may have been faster.
            let signal = watched?.signal ?? made
            if watched == nil { watched = Watched(signal: signal) }
            return signal
        }
    }
}
