/// Decides what follows from an answer of the server that gives no tokens. Reads no clock, no file and no network.
enum AnswerRules {
    /// An answer after which the server is asked again later.
    enum Failure: Equatable {
        /// No answer, or none that says whether the request was carried out.
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

    private static let firstPause: Int64 = 30
    private static let longestPause: Int64 = 3600
    /// A user who corrects the client's settings is not kept waiting for an hour.
    private static let longestPauseOfRefusals: Int64 = 300
    /// So many short waits of a server are believed in a row.
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
