import Glibc
import TokenKeepCore
import TokenKeepSession

/// Runs another program in its own process group and within a deadline: the command of `--exec`, a hook, or another tool.
struct SessionProgram {
    static let purposeVariable = "TOKENKEEP_PURPOSE"
    /// The exit code of a program that has sent nothing: EX_TEMPFAIL of sysexits.h.
    private static let notSent: Int32 = 75

    /// The outcome of a program that ended in time.
    struct Outcome {
        let exitCode: Int32
        let output: SecretBytes
        /// Whether the program read a part of its input.
        let hasReadInput: Bool
    }

    /// The path of the program, followed by its arguments.
    let arguments: [String]
    let variables: [String]

    /// Makes a transport that runs a command line: `sh -c CMD`.
    static func transport(_ command: String) -> SessionTransport {
        { request throws(TokenKeepError) in
            let program = SessionProgram(
                arguments: ["/bin/sh", "-c", command],
                variables: [
                    "\(purposeVariable)=\(request.purpose.word)", "TOKENKEEP_SERVICE=\(request.service)",
                    "TOKENKEEP_ACCOUNT=\(request.account)", "TOKENKEEP_RESOURCE=\(request.target?.resource ?? "")",
                    "TOKENKEEP_SCOPE=\(request.target?.scope ?? "")",
                    "TOKENKEEP_SECONDS=\(request.seconds.map(String.init) ?? "")",
                ])
            let outcome = try program.run(input: request.token, until: request.deadline)
            switch outcome.exitCode {
            case 0 where outcome.hasReadInput || outcome.output.count > 0:
                return try SessionAnswer.parse(outcome.output, request.purpose)
            case let code where !outcome.hasReadInput && code != notSent:
                throw TokenKeepError(
                    .unavailable,
                    "the command of --exec sent nothing: it did not read the token, and ended with exit code \(code)")
            case notSent: throw TokenKeepError(.unavailable, "the command of --exec sent nothing (exit code 75)")
            default: throw TokenKeepError(.io, "the command of --exec ended with exit code \(outcome.exitCode)")
            }
        }
    }

    /// Runs the program with `input` on its standard input. Does not wait for processes that the program leaves running.
    ///
    /// - Throws: ``Status/unavailable`` if it cannot be started, ``Status/timedOut`` if it is killed at the deadline,
    ///   ``Status/io`` if it prints too much.
    ///
    /// - Parameter showsErrors: whether the program inherits standard error. If false, its errors are discarded.
    func run(
        input: SecretBytes?, until deadline: Deadline, showsErrors: Bool = true
    ) throws(TokenKeepError) -> Outcome {
        var hasRoom = false
        var received = 0
        var end: (exitCode: Int32, hasReadInput: Bool) = (0, false)
        do throws(TokenKeepError) {
            // Allocate the memory for the answer first: a failure after the program has sent something would lose the
            // answer.
            let buffer = try SecretBytes(count: SessionAnswer.maximumLength + 1) { bytes throws(TokenKeepError) in
                hasRoom = true
                end = try run(input: input, output: bytes, &received, until: deadline, showsErrors: showsErrors)
            }
            return Outcome(
                exitCode: end.exitCode, output: try buffer.prefix(received), hasReadInput: end.hasReadInput)
        } catch {
            guard !hasRoom else { throw error }
            throw TokenKeepError(.unavailable, "the command cannot be started: \(error.message)")
        }
    }

    /// Runs the program. Returns its exit code, and whether it read a part of its input.
    private func run(
        input: SecretBytes?, output: UnsafeMutableRawBufferPointer, _ received: inout Int, until deadline: Deadline,
        showsErrors: Bool
    ) throws(TokenKeepError) -> (exitCode: Int32, hasReadInput: Bool) {
        ProgramStarts.begin()
        defer { ProgramStarts.end() }
        let toProgram = try SessionProgram.makePipe()
        let fromProgram: [Int32]
        do throws(TokenKeepError) {
            fromProgram = try SessionProgram.makePipe()
        } catch {
            toProgram.forEach { close($0) }
            throw error
        }
        let running: RunningProgram
        do throws(TokenKeepError) {
            running = RunningProgram(
                process: try start(input: toProgram[0], output: fromProgram[1], showsErrors: showsErrors))
        } catch {
            (toProgram + fromProgram).forEach { close($0) }
            throw error
        }
        // The reading end stays open, because input that the program leaves unread is read back.
        defer { close(toProgram[0]) }
        close(fromProgram[1])
        do throws(TokenKeepError) {
            try running.exchange(input, toProgram[1], fromProgram[0], into: output, &received, until: deadline)
            guard running.wait(until: deadline) else { throw SessionProgram.late }
            return (running.exitCode, try running.hasReadInput(from: toProgram[0]))
        } catch {
            running.kill()
            throw error
        }
    }

    private static func makePipe() throws(TokenKeepError) -> [Int32] {
        try ProgramStarts.alone { () throws(TokenKeepError) in
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw cannotStart(errno) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            return ends
        }
    }

    private func start(input: Int32, output: Int32, showsErrors: Bool) throws(TokenKeepError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        if !showsErrors { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGCHLD] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF))
        var argumentList = arguments.map { strdup($0) } + [nil]
        var environmentList = SessionProgram.environment(adding: variables).map { strdup($0) } + [nil]
        defer { (argumentList + environmentList).forEach { free($0) } }
        return try ProgramStarts.alone { () throws(TokenKeepError) in
            var process: pid_t = 0
            let error = posix_spawn(&process, arguments[0], &actions, &attributes, &argumentList, &environmentList)
            guard error == 0 else { throw SessionProgram.cannotStart(error) }
            return process
        }
    }

    /// This program's environment with `variables` added or replaced, and without the variables that open the vault.
    private static func environment(adding variables: [String]) -> [String] {
        var result = variables
        let names =
            variables.map { $0.prefix { $0 != "=" } + "=" } + ["TOKENKEEP_PASSWORD_FILE=", "TOKENKEEP_KEYS_FD="]
        var entry = environ
        while let text = entry.pointee {
            if let text = String(validatingCString: text), !names.contains(where: { text.hasPrefix($0) }) {
                result.append(text)
            }
            entry += 1
        }
        return result
    }

    private static func cannotStart(_ error: Int32) -> TokenKeepError {
        TokenKeepError(.unavailable, "the command cannot be started: \(Terminal.describe(errno: error))")
    }

    static let late = TokenKeepError(.timedOut, "the command did not end in time and was killed")
}
