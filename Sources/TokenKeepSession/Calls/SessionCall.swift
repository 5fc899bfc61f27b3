import TokenKeepCore
import TokenKeepEngine

/// One call of the application on a session.
struct SessionCall {
    let engine: SessionEngine
    /// The deadline of the call, and whether loads may prompt.
    let context: CallContext

    var storage: SessionStorage { engine.storage }
    var options: SessionOptions { storage.options }
    var name: ItemName { storage.name }

    /// Reads the session, and runs the repairs that are possible now.
    func read() throws(TokenKeepError) -> SessionFacts { try storage.read(context) }

    /// Runs `body`, which locks the session. If a module is locked, asks the user to unlock it and runs `body` again.
    func prompting<Value>(_ body: () throws(TokenKeepError) -> Value) throws(TokenKeepError) -> Value {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            guard try storage.store.askToOpen(name, after: error, until: context.deadline) else { throw error }
        }
        return try body()
    }
}

/// Returns access tokens. ``TokenRules`` decides whether to use, renew or refuse a token.
extension SessionCall {
    /// Returns an access token that is valid for `minTTL` seconds, if the server issues tokens that last so long. Does
    /// not use the tokens that the handle keeps in memory.
    func token(minTTL: UInt32 = 0, for target: TokenTarget? = nil) throws(TokenKeepError) -> SessionToken {
        let facts = try read()
        let record = try storage.live(facts)
        let present = try record.access(for: target)
        switch TokenRules.asked(tokenFacts(record, present, target, minTTL: Int64(minTTL))) {
        case .use: return try keep(facts, record, target, minTTL)
        case .clearGuest:
            guard try clearGuest(facts) else { return try token(minTTL: minTTL) }
            throw guestIsOver
        case .ended: throw storage.ended(.expired, of: record)
        case .isGuest: throw guestCannotRenew
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        case .renew: break
        }
        do throws(TokenKeepError) {
            let renewed = try Renewal(storage, for: target, context).run(facts, stale: present?.value)
            return try keep(renewed.facts, renewed.record, target, minTTL)
        } catch {
            guard error.status != .needsLogin, error.status != .notFound else { throw error }
            return try tokenAfter(error, record, target, minTTL)
        }
    }

    /// Returns the access token that the handle keeps in memory if it is valid, otherwise the result of
    /// ``token(minTTL:for:)``.
    func presentToken() throws(TokenKeepError) -> SessionToken {
        if let token = engine.tokenInHand(minTTL: 0) { return token }
        return try token()
    }

    private func tokenFacts(
        _ record: SessionRecord, _ access: AccessToken?, _ target: TokenTarget?, minTTL: Int64 = 0
    ) -> TokenRules.Facts {
        let now = options.clock()
        return TokenRules.Facts(
            kind: record.kind, access: TokenRules.Access(access?.life, at: now, minTTL: minTTL),
            isForTarget: target != nil, canRenew: record.canRenew, isSignInOver: record.life.left(at: now) == 0)
    }

    /// Returns a valid access token after a failed renewal: the present token, or a token that another process saved
    /// meanwhile. Throws if the session ended during the request.
    private func tokenAfter(
        _ failure: TokenKeepError, _ record: SessionRecord, _ target: TokenTarget?, _ minTTL: UInt32
    ) throws(TokenKeepError) -> SessionToken {
        let (present, state, problem) = try reread(record)
        guard let access = try present.access(for: target) else { throw problem ?? failure }
        switch TokenRules.failed(state, TokenRules.Access(access.life, at: options.clock(), minTTL: 0)) {
        case .end: throw problem ?? failure
        case .failure: throw failure
        case .use: break
        }
        options.explain?("the refresh failed: \(failure.message); the present token is still valid")
        return KeptToken(access, generation: present.generation, sealingKey: nil)
            .token(at: options.clock(), for: target, minTTL: minTTL)
    }

    /// Reads the session again after a failed renewal. If the record is unreadable, the note decides whether the
    /// session is still live.
    private func reread(
        _ record: SessionRecord
    ) throws(TokenKeepError) -> (SessionRecord, TokenRules.Reread, TokenKeepError?) {
        do throws(TokenKeepError) {
            return (try storage.live(read()), .live, nil)
        } catch {
            let epoch = try storage.note()?.epoch ?? record.epoch
            let isOver = [.notFound, .needsLogin, .expired].contains(error.status) || epoch != record.epoch
            return (record, isOver ? .ended : .unreadable, error)
        }
    }

    /// Renews the access token now, whatever its age.
    func refresh() throws(TokenKeepError) -> SessionToken {
        let facts = try read()
        let record = try storage.live(facts)
        switch try TokenRules.refreshAsked(tokenFacts(record, record.access(for: nil), nil)) {
        case .renew, .use: return try renew(facts, record.accessToken, nil, isRejected: false)
        case .clearGuest: throw try clearGuest(facts) ? guestIsOver : guestCannotRenew
        case .isGuest: throw guestCannotRenew
        case .ended: throw storage.ended(.expired, of: record)
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        }
    }

    /// Returns an access token to use instead of a token that the server refused with 401.
    func rejected(_ refused: SecretBytes, for target: TokenTarget? = nil) throws(TokenKeepError) -> SessionToken {
        guard refused.count > 0 else {
            throw TokenKeepError(.invalid, "the refused token is empty", hint: "give the token that the server refused")
        }
        let bare = try TokenResponse.bareToken(refused)
        let facts = try read()
        let record = try storage.live(facts)
        guard let present = try record.access(for: target), present.value == refused || present.value == bare else {
            guard bare != nil || !TokenResponse.isNoToken(refused) else {
                throw TokenKeepError(
                    .invalid, "what was refused is no token, and not the session's",
                    hint: "give the token as the server got it, without quotation marks")
            }
            options.explain?("another token was saved since, generation \(record.generation)")
            // Reads the record, not the kept token: the change mark is changed after the record, so the kept token may
            // still be the refused token.
            return try token(for: target)
        }
        switch TokenRules.refused(tokenFacts(record, present, target)) {
        case .renew, .use: return try renew(facts, present.value, target, isRejected: true)
        case .clearGuest:
            guard try clearGuest(facts) else { return try token() }
            throw guestIsOver
        case .ended:
            try SessionTransaction(storage, context).apply(.expired, to: facts.note)
            throw storage.ended(.expired, of: record)
        case .isGuest: throw guestCannotRenew
        case .hasNoRefreshToken: throw cannotRenewWithoutRefreshToken
        }
    }

    private func renew(
        _ facts: SessionFacts, _ stale: SecretBytes, _ target: TokenTarget?, isRejected: Bool
    ) throws(TokenKeepError) -> SessionToken {
        let renewed = try Renewal(storage, for: target, context).run(facts, stale: stale, isRejected: isRejected)
        return try keep(renewed.facts, renewed.record, target, 0)
    }

    /// Clears the record of a guest whose token has expired.
    ///
    /// - Returns: false if the guest has signed in or signed out meanwhile.
    private func clearGuest(_ facts: SessionFacts) throws(TokenKeepError) -> Bool {
        let cleared = try Sessions(storage.store).ending(storage, context) { (transaction) throws(TokenKeepError) in
            try transaction.clearGuest(facts.note) ? true : nil
        }
        return cleared != nil
    }

    /// Keeps an access token in memory for later calls, and returns it.
    private func keep(
        _ facts: SessionFacts, _ record: SessionRecord, _ target: TokenTarget?, _ minTTL: UInt32
    ) throws(TokenKeepError) -> SessionToken {
        guard let access = try record.access(for: target) else {
            throw TokenKeepError(
                .unavailable, "the token for the resource could not be kept",
                hint: "try again; if it fails again, the session's other tokens fill its record (256 KiB)")
        }
        try storage.requireBearer(access.type)
        let token = KeptToken(access, generation: record.generation, sealingKey: facts.sealingKey)
        if let mark = facts.mark, facts.isKeepable {
            engine.kept.withLock { $0[target] = KeptTokens.Entry(token: token, mark: mark) }
        }
        return token.token(at: options.clock(), for: target, minTTL: minTTL)
    }

    private var guestIsOver: TokenKeepError {
        TokenKeepError(.notFound, "the guest session of \(name) is over", hint: "begin another one")
    }

    private var guestCannotRenew: TokenKeepError { cannotRenew("it is a guest's") }
    private var cannotRenewWithoutRefreshToken: TokenKeepError { cannotRenew("it has no refresh token") }

    private func cannotRenew(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the session of \(name) cannot be renewed: \(reason)",
            hint: "the present token is valid: tokenkeep session token")
    }
}
