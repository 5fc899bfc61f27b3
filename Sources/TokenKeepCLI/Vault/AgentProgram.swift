import ArgumentParser
import CSystemShims
import Glibc
import TokenKeepCore

/// The installed program `tokenkeep-agent`.
enum AgentProgram {
    /// Replaces this process by the agent's program. Returns only if this fails, and returns the error.
    static func become(_ arguments: [String]) -> TokenKeepError {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        guard tokenkeep_agent_program(&path) != 0 else {
            return TokenKeepError(
                .unsupported, "tokenkeep-agent is not installed beside this program",
                hint: "install TokenKeep with cmake")
        }
        let program = String(decoding: path.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let error = ProgramExecution.replaceProcess(program, [program] + arguments)
        return TokenKeepError(.unavailable, "\(program) cannot be run: \(Terminal.describe(errno: error))")
    }
}

/// Replaces this process by another program.
enum ProgramExecution {
    /// Executes a program. If the program's name has no slash, searches it in the directories of PATH. Returns only if
    /// this fails, and returns the error number.
    static func replaceProcess(_ program: String, _ arguments: [String]) -> Int32 {
        let copies = arguments.map { strdup($0) } + [nil]
        execvp(program, copies)
        let code = errno
        for copy in copies { free(copy) }
        return code
    }

    /// Replaces this process by a program of the user. If this fails, prints the error and returns the exit code that a
    /// shell would report.
    static func become(_ program: String, _ arguments: [String]) -> ExitCode {
        let code = replaceProcess(program, arguments)
        Terminal.report(
            TokenKeepError(
                code == ENOENT ? .notFound : .io, "\(program) cannot be run: \(Terminal.describe(errno: code))"))
        return ExitCode(code == ENOENT ? ExitCodes.noSuchCommand : ExitCodes.cannotRun)
    }
}
