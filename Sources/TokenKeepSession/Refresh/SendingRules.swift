/// Decides whether a refresh token may be sent. Reads no clock, no file and no network.
enum SendingRules {
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
