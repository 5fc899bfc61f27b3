import TokenKeepCore
import TokenKeepTerminal

/// Runs a program of another project for a check of `doctor`, with the arguments that the program's usual callers pass.
enum AskedProgram {
    /// The time limit, in milliseconds, for all programs together that one check runs.
    private static let limit: UInt32 = 3_500

    /// The deadline of a check that begins now.
    static var deadline: Deadline { Deadline(milliseconds: limit) }

    enum Answer {
        /// No absolute directory on the PATH contains the program.
        case absent
        /// The program did not end in time, or could not be started.
        case failed(TokenKeepError)
        case ended(exitCode: Int32, output: String)
    }

    /// Runs a program, which is given by its absolute path or by its name on the PATH, without input. Discards its
    /// standard error.
    ///
    /// - Parameter variables: changes to the program's environment, as `NAME=VALUE`.
    static func run(_ program: String, _ arguments: [String], variables: [String] = [], until deadline: Deadline)
        -> Answer
    {
        guard let path = program.hasPrefix("/") ? program : path(of: program) else { return .absent }
        do throws(TokenKeepError) {
            let outcome = try ProgramRun([path] + arguments, variables: variables).run(
                input: nil, until: deadline, showsErrors: false)
            return .ended(exitCode: outcome.exitCode, output: outcome.output.utf8String ?? "")
        } catch {
            return .failed(error)
        }
    }

    /// Finds the path of a program on the PATH; nil if no absolute directory on the PATH contains the program.
    ///
    /// Relative directories are ignored, so that the working directory cannot choose the program.
    static func path(of program: String) -> String? {
        for folder in (ToolPlaces.variable("PATH") ?? "").split(separator: ":" as Character) where folder.hasPrefix("/")
        {
            let path = "\(folder)/\(program)"
            if ToolPlaces.isProgram(path) { return path }
        }
        return nil
    }

    /// Makes the finding about a program that only a relative directory on the PATH contains.
    static func inRelativeFolder(_ check: String, _ message: String, _ program: String) -> Finding {
        .note(
            check, "\(message), which was not tried",
            because: "\(program) is in a relative folder of the PATH, and doctor runs no program of such a folder.",
            hint: "command -v \(ShellWord.quoted(program))")
    }
}
