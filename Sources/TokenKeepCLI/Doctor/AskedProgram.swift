import TokenKeepCore

/// A program of others that a check runs as its own callers would.
enum AskedProgram {
    /// The longest time of a program, in milliseconds.
    private static let limit: UInt32 = 3_500

    enum Answer {
        /// There is no such program on the PATH.
        case absent
        /// The program did not end in time, or could not be started.
        case failed(TokenKeepError)
        case ended(exitCode: Int32, output: String)
    }

    /// Runs a program of the PATH without input. Its standard error is dropped.
    static func run(_ program: String, _ arguments: [String]) -> Answer {
        guard let path = path(of: program) else { return .absent }
        do throws(TokenKeepError) {
            let outcome = try SessionProgram(arguments: [path] + arguments, variables: []).run(
                input: nil, until: Deadline(milliseconds: limit), showsErrors: false)
            return .ended(exitCode: outcome.exitCode, output: outcome.output.utf8String ?? "")
        } catch {
            return .failed(error)
        }
    }

    /// The path of a program on the PATH; nil if it is not there.
    static func path(of program: String) -> String? {
        for folder in (ToolPlaces.variable("PATH") ?? "").split(separator: ":" as Character) {
            let path = "\(folder)/\(program)"
            if ToolPlaces.isProgram(path) { return path }
        }
        return nil
    }
}
