import TokenKeepCore
import TokenKeepTerminal

/// A program of others that a check runs as its own callers would.
enum AskedProgram {
    /// The longest time of all programs that a check runs, in milliseconds.
    private static let limit: UInt32 = 3_500

    /// The deadline of a check that begins now.
    static var deadline: Deadline { Deadline(milliseconds: limit) }

    enum Answer {
        /// No absolute folder of the PATH has such a program.
        case absent
        /// The program did not end in time, or could not be started.
        case failed(TokenKeepError)
        case ended(exitCode: Int32, output: String)
    }

    /// Runs a program without input: a path, or a name that the PATH has. Its standard error is dropped.
    ///
    /// - Parameter variables: variables of its environment that differ from this program's, as `NAME=VALUE`.
    static func run(_ program: String, _ arguments: [String], variables: [String] = [], until deadline: Deadline)
        -> Answer
    {
        guard let path = program.hasPrefix("/") ? program : path(of: program) else { return .absent }
        do throws(TokenKeepError) {
            let outcome = try SessionProgram(arguments: [path] + arguments, variables: variables).run(
                input: nil, until: deadline, showsErrors: false)
            return .ended(exitCode: outcome.exitCode, output: outcome.output.utf8String ?? "")
        } catch {
            return .failed(error)
        }
    }

    /// The path of a program on the PATH; nil if it is not there. A folder that depends on where doctor runs is left out:
    /// a strange folder must not name the program.
    static func path(of program: String) -> String? {
        for folder in (ToolPlaces.variable("PATH") ?? "").split(separator: ":" as Character) where folder.hasPrefix("/")
        {
            let path = "\(folder)/\(program)"
            if ToolPlaces.isProgram(path) { return path }
        }
        return nil
    }

    /// The finding about a program that only a relative folder of the PATH has.
    static func inRelativeFolder(_ check: String, _ message: String, _ program: String) -> Finding {
        .note(
            check, "\(message), which was not tried",
            because: "\(program) is in a relative folder of the PATH, and doctor runs no program of such a folder.",
            hint: "command -v \(ShellWord.quoted(program))")
    }
}
