/// Decides which token a call returns, and when a session is looked at again. Reads no clock, no file and no network.
///
/// docs/sessions.md has the tables of these rules; `TokenRulesTests` compares them.
enum TokenRules {
    /// The access token for the use that a call names.
    enum Access: CaseIterable {
        /// The session has no token for this use yet.
        case missing
        case over
        /// The token is valid, and ends before `min_ttl` or within the margin.
        case endsSoon
        /// The token ends soon, and is too young to be renewed for its age.
        case young
        case good

        init(_ life: TokenLife?, at now: SessionTime, minTTL: Int64) {
            self =
                if let life {
                    life.left(at: now) == 0
                        ? .over
                        : life.isGood(at: now, minTTL: minTTL) ? .good : life.isYoung(at: now) ? .young : .endsSoon
                } else { .missing }
        }

        var isValid: Bool { self != .missing && self != .over }
    }

    /// The facts about a signed-in account.
    struct Facts {
        var kind: SessionKind
        var access: Access
        /// Whether the token is for another use than that of the sign-in.
        var isForTarget: Bool
        /// Whether there is a refresh token.
        var canRenew: Bool
        /// Whether the access token of the sign-in is over.
        var isSignInOver: Bool
    }

    /// The action of a call.
    enum Decision: Equatable {
        /// Return the token.
        case use
        case renew
        /// Clear the record of a guest whose time is over.
        case clearGuest
        /// The session is over: its token ended, or was refused, and cannot be renewed.
        case ended
        /// The call is unsupported: a guest's token is never renewed.
        case isGuest
        /// The call is unsupported: there is no refresh token.
        case hasNoRefreshToken
    }

    /// A program asks for a token.
    static func asked(_ facts: Facts) -> Decision {
        if facts.access == .good { return .use }
        guard facts.kind == .user else {
            return facts.isForTarget ? .isGuest : facts.access.isValid ? .use : .clearGuest
        }
        guard facts.canRenew else {
            return facts.access.isValid ? .use : facts.isSignInOver ? .ended : .hasNoRefreshToken
        }
        return facts.access == .young ? .use : .renew
    }

    /// A program asks for another token, whatever the age of the present one.
    static func refreshAsked(_ facts: Facts) -> Decision {
        guard facts.kind == .user else { return facts.isSignInOver ? .clearGuest : .isGuest }
        return facts.canRenew ? .renew : facts.isSignInOver ? .ended : .hasNoRefreshToken
    }

    /// A server refused the token with 401, and the session has no other token.
    static func refused(_ facts: Facts) -> Decision {
        guard facts.kind == .user else { return .clearGuest }
        return facts.canRenew ? .renew : facts.isForTarget ? .hasNoRefreshToken : .ended
    }

    /// The action of the process with the refresh lock.
    enum LockedDecision: Equatable {
        /// Return the token that another process has saved.
        case adopt
        case renew
        /// Wait, and begin again.
        case wait(seconds: Int64)
        /// The call fails: the server asks to wait longer than a call does.
        case fail(seconds: Int64)
    }

    /// A process got the refresh lock.
    ///
    /// - Parameters:
    ///   - isStale: whether the session still has the token that was read before the lock.
    ///   - coolDown: the seconds for which the server is not to be asked; nil for none.
    ///   - left: the milliseconds that the call may last.
    static func locked(_ access: Access, isStale: Bool, coolDown: Int64?, left: UInt32) -> LockedDecision {
        if access.isValid, !isStale { return .adopt }
        guard let coolDown else { return .renew }
        return AnswerRules.isShort(coolDown, left: left) ? .wait(seconds: coolDown) : .fail(seconds: coolDown)
    }

    /// The state of the session after a renewal that failed.
    enum Reread: CaseIterable {
        /// The session goes on.
        case live
        /// The session is over, or another one began.
        case ended
        /// The record cannot be read now, and the note names the same session.
        case unreadable
    }

    /// The answer of a call after a renewal that failed.
    enum FailedDecision {
        /// Return the token, which is still valid.
        case use
        /// The error of the renewal.
        case failure
        /// The error that says how the session ended.
        case end
    }

    /// A renewal failed, and did not say that the session is over.
    ///
    /// - Parameter access: the token as it is now; the one that was read before if the record is unreadable.
    static func failed(_ reread: Reread, _ access: Access) -> FailedDecision {
        reread == .ended ? .end : access.isValid ? .use : .failure
    }

    /// The times of a session that make a look at it worthwhile: Unix seconds, 0 if unknown.
    struct Times: Equatable {
        var refreshAt: Int64 = 0
        var expiresAt: Int64 = 0
        var coolDownUntil: Int64 = 0
    }

    /// Farther times are of no interest, in seconds.
    private static let horizon: Int64 = 360

    /// Seconds until the next look at a session.
    ///
    /// After an answer that was none, the next request waits for the end of the access token, or of the pause.
    static func nextLook(_ times: Times, at now: Int64) -> Int64 {
        let due = [times.refreshAt, times.expiresAt, times.coolDownUntil].filter { $0 > now }.min()
        // One second more: the times are whole seconds, rounded down.
        return min(horizon, (due ?? now + horizon).subtractingReportingOverflow(now).partialValue) + 1
    }
}
