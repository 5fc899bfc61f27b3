import CSystemShims
import Glibc
package import TokenKeepCore

/// Runs another program in its own process group and within a deadline: the command of `--exec`, a hook, or a tool.
package struct ProgramRun {
    /// The outcome of a program that ended in time.
    package struct Outcome {
        package let exitCode: Int32
        package let output: SecretBytes
        /// Whether the program read a part of its input.
        package let hasReadInput: Bool
    }

    /// The maximum length of the output, in bytes: a server's answer of 256 KiB and its headers.
    private static let longestOutput = 262_144 + 65_536

    private let words: [String]
    private let variables: [String]
    private let searchesPath: Bool

    /// - Parameters:
    ///   - words: the path of the program, followed by its arguments.
    ///   - variables: changes to this program's environment, as `NAME=VALUE`.
    ///   - searchesPath: whether the first word may be a name, for which the PATH is searched.
    package init(_ words: [String], variables: [String] = [], searchesPath: Bool = false) {
        self.words = words
        self.variables = variables
        self.searchesPath = searchesPath
    }

    /// Runs the program with `input` on its standard input. Does not wait for processes that the program leaves running.
    ///
    /// - Throws: ``Status/unavailable`` if it cannot be started, ``Status/timedOut`` if it is killed at the deadline,
    ///   ``Status/io`` if it prints too much.
    ///
    /// - Parameter showsErrors: whether the program inherits standard error. If false, its errors are discarded.
    package func run(
        input: SecretBytes?, until deadline: Deadline, showsErrors: Bool = true
    ) throws(TokenKeepError) -> Outcome {
        var hasRoom = false
        var received = 0
        var end: (exitCode: Int32, hasReadInput: Bool) = (0, false)
        do throws(TokenKeepError) {
            // Allocate the memory for the answer first: a failure after the program has sent something would lose the
            // answer.
            let buffer = try SecretBytes(count: ProgramRun.longestOutput + 1) { bytes throws(TokenKeepError) in
                hasRoom = true
                let program = try start(showsErrors: showsErrors)
                defer { program.kill() }
                try ProgramRun.exchange(input, bytes, &received, with: program, until: deadline)
                guard program.waitForEnd(until: deadline) else { throw ProgramRun.late }
                end = (program.exitCode ?? ExitCodes.cannotRun, try ProgramRun.hasReadInput(program))
            }
            return Outcome(
                exitCode: end.exitCode, output: try buffer.prefix(received), hasReadInput: end.hasReadInput)
        } catch {
            guard !hasRoom else { throw error }
            throw TokenKeepError(.unavailable, "the command cannot be started: \(error.message)")
        }
    }

    /// Without it, the kernel keeps no exit status for a process that was started with an ignored SIGCHLD.
    private static let keepsExitStatus: Void = { _ = signal(SIGCHLD, SIG_DFL) }()

    private func start(showsErrors: Bool) throws(TokenKeepError) -> RunningProgram {
        ProgramRun.keepsExitStatus
        var options = tokenkeep_start_options()
        options.searches_path = searchesPath ? 1 : 0
        (options.input, options.output) = (TOKENKEEP_PIPE, TOKENKEEP_PIPE)
        options.errors = showsErrors ? TOKENKEEP_INHERITED : TOKENKEEP_NOTHING
        (options.keeps_input_reader, options.has_own_group) = (1, 1)
        do throws(RunningProgram.StartFailure) {
            return try RunningProgram(
                words, changes: variables, without: ["TOKENKEEP_PASSWORD_FILE", "TOKENKEEP_KEYS_FD"], options)
        } catch {
            throw TokenKeepError(
                .unavailable, "the command cannot be started: \(Terminal.describe(errno: error.number))")
        }
    }

    private static func exchange(
        _ input: SecretBytes?, _ output: UnsafeMutableRawBufferPointer, _ received: inout Int,
        with program: RunningProgram, until deadline: Deadline
    ) throws(TokenKeepError) {
        let input = UnsafeRawBufferPointer(start: input?.unsafeAddress, count: input?.count ?? 0)
        let end = try program.exchange(input, until: deadline) { () throws(TokenKeepError) in
            guard received < output.count else { throw TokenKeepError(.io, "the command printed more than 256 KiB") }
            return UnsafeMutableRawBufferPointer(rebasing: output[received...])
        } hasEnough: { (count) throws(TokenKeepError) in
            received += count
            return false
        }
        if case .late = end { throw late }
    }

    /// Whether any process has read a part of the input. Removes the rest from the pipe, so that a process that the
    /// program left behind cannot read it later.
    private static func hasReadInput(_ program: RunningProgram) throws(TokenKeepError) -> Bool {
        program.closeEnds()
        var left = 0
        _ = try SecretBytes(count: max(1, program.written)) { bytes in
            while let base = bytes.baseAddress, left < program.written {
                let count = read(program.inputReader, base + left, program.written - left)
                guard count > 0 || count < 0 && errno == EINTR else { break }
                left += max(0, count)
            }
        }
        return left < program.written
    }

    private static let late = TokenKeepError(.timedOut, "the command did not end in time and was killed")
}
