public import TokenKeepCore

extension SessionEngine {
    /// The time between two looks at a session, if nothing is due before, in seconds: the seeds' heartbeat.
    private static let heartbeat: Int64 = 180

    /// Does what is due now: renews a token that ends soon, clears a guest whose time is over, saves what waits in the
    /// stash, asks the server whether it still accepts the token, if ``SessionOptions/validates``, and revokes the tokens
    /// of earlier logouts.
    ///
    /// A locked session and a server that is away are no errors: the next step tries again.
    ///
    /// - Parameter isValidating: whether the server is asked although ``SessionOptions/validates`` is false.
    /// - Returns: milliseconds until the next step. Call it sooner after a suspension of the machine.
    /// - Throws: ``Status/notFound`` if nobody is signed in, ``Status/needsLogin``, ``Status/expired``.
    public func step(isValidating: Bool = false) throws(TokenKeepError) -> UInt32 {
        let next = try stepAlone(isValidating: isValidating).pause
        if options.transport != nil {
            _ = try? Outbox(store, options).flushIfMarked(service: name.service)
        }
        return next
    }

    /// ``step(isValidating:)`` without the tokens of earlier logouts. Returns also whether a module other than the vault has
    /// the session's record locked: a keyring may not signal its unlock.
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
    /// Milliseconds until the next look at the session, at most about `heartbeat` seconds.
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
