/// Decides what follows from the server's answer to a refresh. Reads no clock, no file and no network.
///
/// docs/sessions.md has the tables of these rules; `AnswerRulesTests` compares them. ``RefreshAnswer`` reads the answer.
enum AnswerRules {
    /// The facts about the request.
    struct Facts {
        /// Whether the refresh token was sent before, and no answer came.
        var isRepetition: Bool
        var rotation: RotationProfile
        /// Whether a token for another use than that of the sign-in was asked for.
        var isForTarget: Bool
        /// Whether the answer's ID token names another person than that of the sign-in.
        var isOfAnother: Bool
    }

    /// The action of the call.
    enum Action: Equatable {
        case save
        /// Queue the tokens of another person for revocation, and end the session.
        case endForAnother
        /// End the session, unless another process has saved another refresh token.
        case end(SessionReason)
        /// Note the failure, and how long no process asks again. `withdraws` if the server certainly did not use the
        /// refresh token.
        case pause(Failure, withdraws: Bool)
        /// Note that the refresh token was not used.
        case withdraw
    }

    /// The server has answered.
    static func answered(_ answer: RefreshAnswer, _ facts: Facts) -> Action {
        switch answer {
        case .tokens: facts.isOfAnother ? .endForAnother : .save
        case .refused: .end(facts.isRepetition && facts.rotation != .none ? .rotationLost : .refused)
        case .interaction: .end(.interaction)
        // A resource that the server refuses says nothing about the session's other tokens.
        case .denied(_, let isAboutClient):
            isAboutClient || !facts.isForTarget ? .pause(.refusesClient, withdraws: true) : .withdraw
        case .coolDown(let seconds, let mayHaveRotated):
            .pause(.asksToWait(seconds), withdraws: !mayHaveRotated || facts.rotation != .strict)
        case .unknown: .pause(.unknown, withdraws: false)
        }
    }

    /// An answer after which the server is asked again later.
    enum Failure: Equatable {
        /// No answer came, or no answer that says whether the server carried out the request.
        case unknown
        /// The server refuses the client or the scope: only a change of the settings helps.
        case refusesClient
        /// The server asks to wait: seconds, nil if it does not say.
        case asksToWait(Int64?)
    }

    /// The longest wait that a server may ask for: a day, in seconds.
    static let longestWait: Int64 = 86_400
    /// The longest cool-down that a call waits for itself, in seconds.
    static let shortWait: Int64 = 5

    /// Whether a call waits itself until the server may be asked again.
    ///
    /// - Parameter left: the milliseconds that the call may last.
    static func isShort(_ wait: Int64, left: UInt32) -> Bool {
        wait <= shortWait && UInt32(clamping: wait) * 1000 < left
    }

    private static let firstPause: Int64 = 30
    private static let longestPause: Int64 = 3600
    /// A user who corrects the client's settings is not kept waiting for an hour.
    private static let longestPauseOfRefusals: Int64 = 300
    /// The number of short waits in a row for which a server is believed.
    private static let believedWaits = 3

    /// The seconds in which no process asks the server again.
    ///
    /// After the first answer that is none, the request may be repeated at once: it may never have arrived.
    ///
    /// - Parameter earlier: the failures in a row before this one.
    static func pause(after failure: Failure, earlierFailures earlier: Int) -> Int64 {
        switch failure {
        case .unknown: grown(earlier - 1)
        case .refusesClient: min(longestPauseOfRefusals, grown(earlier - 1))
        case .asksToWait(nil): grown(earlier)
        case .asksToWait(let seconds?): max(min(seconds, longestWait), grown(earlier - believedWaits))
        }
    }

    /// 30 seconds, doubled with each failure up to an hour; 0 for a negative number.
    private static func grown(_ failures: Int) -> Int64 {
        failures < 0 ? 0 : min(longestPause, firstPause << Int64(min(failures, 7)))
    }
}
