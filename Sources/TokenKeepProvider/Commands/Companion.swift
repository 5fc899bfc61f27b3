import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// A child process that ends when this process ends.
struct Companion {
    private let program: RunningProgram

    var process: pid_t { program.process }
    /// A descriptor that becomes readable at the program's end; -1 if the system has none.
    var endDescriptor: Int32 { program.endDescriptor }

    /// Starts a program.
    ///
    /// - Parameter variables: environment variables to set, in addition to the present ones.
    /// - Throws: a ``CompanionFailure`` with the errno if the program cannot be started.
    init(_ arguments: [String], _ variables: [String: String] = [:]) throws(CompanionFailure) {
        // The kernel keeps no exit code for a process that was started with an ignored SIGCHLD.
        signal(SIGCHLD, SIG_DFL)
        var options = tokenkeep_start_options()
        (options.searches_path, options.keeps_ignored_signals) = (1, 1)
        options.death_signal = SIGKILL
        do throws(RunningProgram.StartFailure) {
            program = try RunningProgram(arguments, changes: variables.map { "\($0.key)=\($0.value)" }, options)
        } catch {
            throw CompanionFailure(program: arguments.first ?? "", code: error.number)
        }
    }

    /// Waits until the program ends. Returns its exit code as a shell reports it: 128 + N after signal N.
    func wait() -> Int32 {
        program.waitForEnd()
        return program.exitCode ?? Status.internal.exitCode
    }

    /// Sends SIGTERM to the program, and waits until the program has ended.
    func end() {
        kill(process, SIGTERM)
        _ = wait()
    }
}

/// The reason why a program was not started.
struct CompanionFailure: Error {
    let program: String
    let code: Int32

    var error: TokenKeepError {
        TokenKeepError(
            code == ENOENT ? .notFound : .io, "\(program) cannot be run: \(Bus.describe(code))")
    }
}
