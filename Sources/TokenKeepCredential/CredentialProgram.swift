import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// Selects a protocol by the program's file name or by the first word after the options, and runs it.
enum CredentialProgram {
    /// Runs the program. Returns the protocol's exit code if it defines one, otherwise the exit code of `tokenkeep`.
    static func run() -> Int32 {
        ProcessStart.occupyStandardDescriptors()
        ProcessStart.dieSilently()
        refuseCoreDumps()
        var failure = FailureReport()
        do {
            let program = ProcessStart.rawArguments().first.map { String(cString: $0) }
            let linked = CredentialProtocol.named(byProgram: program)
            failure = linked?.failureReport ?? failure
            let arguments = try ProcessStart.arguments()
            if try CredentialHelp.answers(arguments) { return Status.ok.exitCode }
            var invocation = try Invocation(arguments: arguments)
            let spoken = if let linked { linked } else { try CredentialProtocol.named(invocation.nextWord()) }
            failure = spoken.failureReport
            try spoken.run(&invocation)
            return Status.ok.exitCode
        } catch let error as TokenKeepError {
            return failure.tell(error)
        } catch {
            return ExitCodes.readerIsGone
        }
    }

    /// Disables core dumps, because a dump would contain the secrets in JSON values.
    private static func refuseCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}

/// The way in which a protocol reports failures.
struct FailureReport {
    /// Whether to write no message and to return the exit code 0, because the protocol's caller demands silence.
    var isSilent: () -> Bool = { false }
    /// Whether to write the message to standard output, where the protocol's caller reads it, instead of standard
    /// error.
    var isOutput = false
    /// The exit code of every failure; nil for the exit code of the failure's status.
    var exitCode: Int32?

    /// Writes the failure in one line unless the caller demands silence, and returns the exit code.
    func tell(_ error: TokenKeepError) -> Int32 {
        if isSilent() { return Status.ok.exitCode }
        // If standard output cannot be written, a person may still read the message on standard error.
        let isWritten = isOutput && (try? Terminal.write(Terminal.line(of: error) + "\n")) != nil
        if !isWritten {
            Terminal.writeError("tokenkeep: \(Terminal.line(of: error))\n")
        }
        return exitCode ?? error.exitCode
    }
}
