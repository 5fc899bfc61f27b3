public import TokenKeepCore
import TokenKeepRecords

/// The watch of one handle: the signal that reports changes, and the last reported state of the session.
struct Watched {
    let signal: SessionSignal
    var last: SessionInfo?
}

extension SessionEngine {
    /// Returns a file descriptor that becomes readable (poll(2)) when any process has changed a session. This object
    /// owns and closes it.
    ///
    /// - Throws: ``Status/io`` if the system's limit of file watches (inotify) is reached.
    public func watchDescriptor() throws(TokenKeepError) -> Int32 { try SessionSignal.of(self).descriptor }

    /// Returns the session's state if it differs from the last report; nil if it does not. The first call reports the
    /// state.
    ///
    /// Changes made by TokenKeep make the descriptor readable. A change of the record by another program is only found
    /// by the next call of this function.
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
            // Another thread may have begun the watch meanwhile. Then its signal is used, so that a handle has one
            // watch.
            let signal = watched?.signal ?? made
            if watched == nil { watched = Watched(signal: signal) }
            return signal
        }
    }
}
