/// Decides whether a refresh token may be sent. Reads no clock, no file and no network.
///
/// docs/sessions.md has the tables of these rules; `SendingRulesTests` compares them.
enum SendingRules {
    /// Generations of tokens: in the record, in the refresh token's own item (0 for none), and in the note.
    struct Generations {
        var record: UInt64
        var refreshItem: UInt64 = 0
        var note: UInt64
    }

    /// The meaning of a note about a refresh.
    enum Unanswered: Equatable {
        /// No earlier request lacks its answer.
        case none
        /// An earlier request with the same refresh token has no answer, or its answer is in the stash alone.
        case noted
        /// The stash had later tokens, and is gone: the refresh token was used.
        case isAnswered
    }

    /// Whether an earlier request with the refresh token lacks its answer.
    ///
    /// - Parameter isNoted: whether the note names a refresh with the same token.
    static func unanswered(_ generations: Generations, isNoted: Bool) -> Unanswered {
        if max(generations.record, generations.refreshItem) < generations.note { return .isAnswered }
        // With a later record, the answer had no new refresh token and was saved; the process died before it changed the
        // note.
        return isNoted && generations.record <= generations.note ? .noted : .none
    }

    /// An earlier request with the same refresh token, whose answer was not saved.
    struct EarlierRequest: Equatable {
        /// Seconds since the refresh token was sent first.
        var age: Int64
        /// Whether the server's answer was seen, and is lost: the token is certainly used.
        var isAnswered = false
    }

    /// The decision about a refresh token.
    enum Decision: Equatable {
        case send
        /// The access token is used to its end first.
        case useAccessToken
        /// The token is used, and the tokens that took its place are lost.
        case isLost
    }

    /// Decides by the server's treatment of used refresh tokens.
    ///
    /// A token whose answer never came may not have arrived. The first repetition takes the risk that the server
    /// takes it for a theft; each later one risks nothing more, and ending the session would only make the loss certain.
    /// ``AnswerRules`` says how long to wait between repetitions.
    ///
    /// - Parameters:
    ///   - earlier: nil if no earlier request lacks its answer.
    ///   - isAccessTokenOver: whether the access token is over, or the server refused it.
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
