/// Decides whether a refresh token may be sent. Reads no clock, no file and no network.
///
/// docs/sessions.md has the tables of these rules; `SendingRulesTests` compares both.
enum SendingRules {
    /// The generations of a session's tokens: in the record, in the refresh token's own item (0 if there is none), in
    /// the note.
    struct Generations {
        var record: UInt64
        var refreshItem: UInt64 = 0
        var note: UInt64
    }

    /// Whether an earlier request with the same refresh token is unanswered.
    enum Unanswered: Equatable {
        /// Every earlier request was answered.
        case none
        /// An earlier request with the same refresh token has no answer, or its answer is only in the stash.
        case noted
        /// An answer was received and lost with the stash, so the server has already used the refresh token.
        case isAnswered
    }

    /// Returns whether an earlier request with the refresh token is unanswered.
    ///
    /// - Parameter isNoted: whether the note names a refresh with the same refresh token.
    static func unanswered(_ generations: Generations, isNoted: Bool) -> Unanswered {
        if max(generations.record, generations.refreshItem) < generations.note { return .isAnswered }
        // A record with a later generation than the note shows that the answer was saved and had no new refresh token,
        // and that the process died before it updated the note. So the request was answered.
        return isNoted && generations.record <= generations.note ? .noted : .none
    }

    /// An earlier request with the same refresh token, whose answer was not saved.
    struct EarlierRequest: Equatable {
        /// The seconds since the refresh token was first sent.
        var age: Int64
        /// Whether the server's answer was received and lost, so that the refresh token is certainly used.
        var isAnswered = false
    }

    /// Whether a refresh token is sent.
    enum Decision: Equatable {
        case send
        /// Use the access token until it expires, before the refresh token is sent again.
        case useAccessToken
        /// Do not send: the refresh token is used, and the tokens that replaced it are lost.
        case isLost
    }

    /// Decides whether to send the refresh token. Depends on whether the server keeps used refresh tokens valid.
    ///
    /// If no answer came, the request may not have arrived. If it has arrived, the server may treat the first
    /// repetition as a theft and end the session. Later repetitions add no risk, and not repeating would lose the
    /// session with certainty. ``AnswerRules`` sets the pause between repetitions.
    ///
    /// - Parameters:
    ///   - earlier: the unanswered request with the same token; nil if there is none.
    ///   - isAccessTokenOver: whether the access token has expired, or the server refused it.
    static func decide(
        _ earlier: EarlierRequest?, _ rotation: RotationProfile, isAccessTokenOver: Bool
    ) -> Decision {
        guard let earlier else { return .send }
        switch rotation {
        case .none: return .send
        case .overlap(let seconds) where earlier.age <= Int64(seconds): return .send
        case .overlap, .strict:
            guard isAccessTokenOver else { return .useAccessToken }
            return earlier.isAnswered ? .isLost : .send
        }
    }
}
