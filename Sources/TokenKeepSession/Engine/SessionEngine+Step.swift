public import TokenKeepCore

extension SessionEngine {
    /// The maximum interval, in seconds, between two checks of a session, and between two validations at the server.
    private static let heartbeat: Int64 = 180

    /// Does what is due now: renews a token that expires soon, clears an expired guest, saves tokens that are in the
    /// stash, validates the access token if ``SessionOptions/validates`` is true, and revokes the tokens of earlier
    /// logouts.
    ///
    /// Does not throw if the session is locked or the server is unreachable: the next step tries again.
    ///
    /// - Parameter isValidating: whether to validate the access token even if ``SessionOptions/validates`` is false.
    /// - Returns: the milliseconds until the next step is due. After the machine was suspended, call again at once.
    /// - Throws: ``Status/notFound`` if nobody is signed in; ``Status/needsLogin`` or ``Status/expired`` if the session
    ///   is over.
    public func step(isValidating: Bool = false) throws(TokenKeepError) -> UInt32 {
        let next = try stepAlone(isValidating: isValidating).pause
        if options.transport != nil {
            _ = try? Outbox(store, options).flushIfMarked(service: name.service)
        }
        return next
    }

    /// Does a ``step(isValidating:)`` without revoking tokens of earlier logouts. Also returns whether the record is
    /// locked in a module other than the vault. The caller must then check regularly, because a keyring may not signal
    /// that it was unlocked.
    package func stepAlone(isValidating: Bool = false) throws(TokenKeepError) -> (pause: UInt32, isLocked: Bool) {
        var isLocked = false
        do throws(TokenKeepError) {
            _ = try token()
            if isValidating || options.validates { try newCall().validateIfDue(after: SessionEngine.heartbeat) }
        } catch {
            guard [.locked, .unavailable, .timedOut, .busy, .denied].contains(error.status) else { throw error }
            options.explain?("nothing was renewed: \(error.message)")
            isLocked = error.status == .locked && error.module != nil && error.module != "vault"
        }
        return (try storage.nextLook(within: SessionEngine.heartbeat), isLocked)
    }
}

extension SessionStorage {
    /// The milliseconds until the next check of the session: at most `heartbeat` seconds ± 10 %.
    fileprivate func nextLook(within heartbeat: Int64) throws(TokenKeepError) -> UInt32 {
        let longest = heartbeat * 1000 + Int64.random(in: -heartbeat * 100...heartbeat * 100)
        guard let note = try note() else { return UInt32(clamping: longest) }
        let now = options.clock()
        let times = TokenRules.Times(
            refreshAt: note.canRenew && options.transport != nil ? note.refreshAt : 0, expiresAt: note.expiresAt,
            coolDownUntil: note.coolDown(at: now).map { now.wall + $0 } ?? 0)
        return UInt32(clamping: min(longest, TokenRules.nextLook(times, at: now.wall) * 1000))
    }
}
