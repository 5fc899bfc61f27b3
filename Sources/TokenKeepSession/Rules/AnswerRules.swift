/// Decides what follows from the server's answer to a refresh. Reads no clock, no file and no network.
///
/// docs/sessions.md has the tables of these rules; `AnswerRulesTests` compares both. ``RefreshAnswer`` parses the
/// answer.
enum AnswerRules {
    /// The facts about the refresh request that was answered.
    struct Facts {
        /// Whether the same refresh token was sent before without an answer.
        var isRepetition: Bool
        var rotation: RotationProfile
        /// Whether the request was for another resource or scope than those of the sign-in.
        var isForTarget: Bool
        /// Whether the answer's ID token names another person than the sign-in did.
        var isOfAnother: Bool
    }

    /// The action that follows from an answer.
    enum Action: Equatable {
        case save
        /// Queue the other person's tokens for revocation, and end the session.
        case endForAnother
        /// End the session, unless another process has saved a different refresh token.
        case end(SessionReason)
        /// Write into the note the failure and a pause in which no process asks the server. `withdraws` is true if the
        /// server certainly did not use the refresh token.
        case pause(Failure, withdraws: Bool)
        /// Write into the note that the server did not use the refresh token.
        case withdraw
    }

    /// Returns the action that follows from the server's answer.
    static func answered(_ answer: RefreshAnswer, _ facts: Facts) -> Action {
        switch answer {
        case .tokens: facts.isOfAnother ? .endForAnother : .save
        case .refused: .end(facts.isRepetition && facts.rotation != .none ? .rotationLost : .refused)
        case .interaction: .end(.interaction)
        // If only the resource or scope of a target was refused, the session's other tokens can still be renewed, so no
        // pause begins.
        case .denied(_, let isAboutClient):
            isAboutClient || !facts.isForTarget ? .pause(.refusesClient, withdraws: true) : .withdraw
        case .coolDown(let seconds, let mayHaveRotated):
            .pause(.asksToWait(seconds), withdraws: !mayHaveRotated || facts.rotation != .strict)
        case .unknown: .pause(.unknown, withdraws: false)
        }
    }

    /// A failure of a refresh that does not end the session. The server is asked again after a pause.
    enum Failure: Equatable {
        /// No answer came, or the answer does not tell whether the server carried out the request.
        case unknown
        /// The server refuses the client or the scope, which only a change of the settings can correct.
        case refusesClient
        /// The server demands a wait of this number of seconds; nil if it states no number.
        case asksToWait(Int64?)
    }

    /// The maximum wait that a server can demand, in seconds: a day. A longer wait is shortened.
    static let longestWait: Int64 = 86_400
    /// The maximum remaining cool-down, in seconds, that a call waits for. If it is longer, the call fails.
    static let shortWait: Int64 = 5

    /// Whether a call itself waits until the server may be asked again, instead of failing.
    ///
    /// - Parameter left: the milliseconds until the call's deadline.
    static func isShort(_ wait: Int64, left: UInt32) -> Bool {
        wait <= shortWait && UInt32(clamping: wait) * 1000 < left
    }

    private static let firstPause: Int64 = 30
    private static let longestPause: Int64 = 3600
    /// The maximum pause after refusals of the client, in seconds. It is short, so that a user who has corrected the
    /// client's settings need not wait long.
    private static let longestPauseOfRefusals: Int64 = 300
    /// The number of successive failures for which a wait demanded by the server is used as it is. After more, the
    /// pause grows.
    private static let believedWaits = 3

    /// The pause after a failure, in seconds, in which no process asks the server again.
    ///
    /// After the first unknown outcome the pause is 0, because the request may not have reached the server.
    ///
    /// - Parameter earlier: the number of successive failures before this one.
    static func pause(after failure: Failure, earlierFailures earlier: Int) -> Int64 {
        switch failure {
        case .unknown: grown(earlier - 1)
        case .refusesClient: min(longestPauseOfRefusals, grown(earlier - 1))
        case .asksToWait(nil): grown(earlier)
        case .asksToWait(let seconds?): max(min(seconds, longestWait), grown(earlier - believedWaits))
        }
    }

    /// Returns 30 seconds, doubled for each failure, at most an hour; 0 for a negative number of failures.
    private static func grown(_ failures: Int) -> Int64 {
        failures < 0 ? 0 : min(longestPause, firstPause << Int64(min(failures, 7)))
    }
}
