/// Decides which token a call returns, and when a session is checked again. Reads no clock, file or network.
///
/// docs/sessions.md has the tables of these rules; `TokenRulesTests` compares both.
enum TokenRules {
    /// The state of the access token for the resource and scope that a call names.
    enum Access: CaseIterable {
        /// The session has no access token for this resource and scope yet.
        case missing
        case over
        /// The token is valid, but expires before `min_ttl` seconds or within the margin.
        case endsSoon
        /// The token expires soon, but is too new to be renewed for its age.
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
        /// Whether the token is for another resource or scope than those of the sign-in.
        var isForTarget: Bool
        /// Whether the session has a refresh token.
        var canRenew: Bool
        /// Whether the access token of the sign-in has expired.
        var isSignInOver: Bool
    }

    /// The action of a call that was asked for a token.
    enum Decision: Equatable {
        /// Return the token.
        case use
        case renew
        /// Clear the record of a guest whose token has expired.
        case clearGuest
        /// Fail: the token has expired or was refused, and cannot be renewed.
        case ended
        /// Fail as unsupported: a guest's token is never renewed.
        case isGuest
        /// Fail as unsupported: there is no refresh token.
        case hasNoRefreshToken
    }

    /// Decides what a call does if a program asks for a token.
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

    /// Decides what a call does if a program asks for a renewal, whatever the age of the present token.
    static func refreshAsked(_ facts: Facts) -> Decision {
        guard facts.kind == .user else { return facts.isSignInOver ? .clearGuest : .isGuest }
        return facts.canRenew ? .renew : facts.isSignInOver ? .ended : .hasNoRefreshToken
    }

    /// Decides what a call does if a server has refused the present token with 401.
    static func refused(_ facts: Facts) -> Decision {
        guard facts.kind == .user else { return .clearGuest }
        return facts.canRenew ? .renew : facts.isForTarget ? .hasNoRefreshToken : .ended
    }

    /// The action of the process that has acquired the refresh lock.
    enum LockedDecision: Equatable {
        /// Return the token that another process has saved meanwhile.
        case adopt
        case renew
        /// Release the lock, wait, and read the session again.
        case wait(seconds: Int64)
        /// Fail, because the cool-down lasts longer than a call waits.
        case fail(seconds: Int64)
    }

    /// Decides what a process does after it has acquired the refresh lock.
    ///
    /// - Parameters:
    ///   - isStale: whether the session still has the token that was read before the lock was acquired.
    ///   - coolDown: the seconds for which the server must not be asked; nil if it can be asked now.
    ///   - left: the milliseconds until the call's deadline.
    static func locked(_ access: Access, isStale: Bool, coolDown: Int64?, left: UInt32) -> LockedDecision {
        if access.isValid, !isStale { return .adopt }
        guard let coolDown else { return .renew }
        return AnswerRules.isShort(coolDown, left: left) ? .wait(seconds: coolDown) : .fail(seconds: coolDown)
    }

    /// The state of the session when it is read again after a failed renewal.
    enum Reread: CaseIterable {
        /// The session is still live.
        case live
        /// The session is over, or another session has begun.
        case ended
        /// The record cannot be read now, but the note still names the same session.
        case unreadable
    }

    /// The next step of a call after a failed renewal.
    enum FailedDecision {
        /// Return the present token, which is still valid.
        case use
        /// Throw the error of the renewal.
        case failure
        /// Throw the error that describes how the session ended.
        case end
    }

    /// Decides what a call does after a renewal that failed, unless it failed because the session ended.
    ///
    /// - Parameter access: the present access token; if the record is unreadable, the access token read before the
    ///   renewal.
    static func failed(_ reread: Reread, _ access: Access) -> FailedDecision {
        reread == .ended ? .end : access.isValid ? .use : .failure
    }

    /// The times at which a session is to be checked again, in Unix seconds; 0 if unknown.
    struct Times: Equatable {
        var refreshAt: Int64 = 0
        var expiresAt: Int64 = 0
        var coolDownUntil: Int64 = 0
    }

    /// The maximum interval between two checks of a session, in seconds.
    private static let horizon: Int64 = 360

    /// The seconds until a session is to be checked again.
    ///
    /// Times in the past are ignored. After a failed renewal, the session is therefore checked at the end of the token
    /// or of the pause.
    static func nextLook(_ times: Times, at now: Int64) -> Int64 {
        let due = [times.refreshAt, times.expiresAt, times.coolDownUntil].filter { $0 > now }.min()
        // The times are rounded down to whole seconds, so a second is added. Otherwise the check would come too early.
        return min(horizon, (due ?? now + horizon).subtractingReportingOverflow(now).partialValue) + 1
    }
}
