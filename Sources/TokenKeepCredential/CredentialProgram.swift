import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// Runs the protocol that the program's name or the first word after the options names.
enum CredentialProgram {
    /// Runs the program and returns its exit code: that of the protocol if it has one, else that of `tokenkeep`.
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

    /// A dump of the process would hold what JSON values hold.
    private static func refuseCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }
}

/// The form in which a protocol reports failures.
struct FailureReport {
    /// Whether nothing is written: the caller asked for silence.
    var isSilent: () -> Bool = { false }
    /// Whether the protocol reads the message from standard output, not from standard error.
    var isOutput = false
    /// The exit code of every failure; nil for that of the status.
    var exitCode: Int32?

    /// Tells the failure in one line, and returns the exit code.
    func tell(_ error: TokenKeepError) -> Int32 {
        if isSilent() { return Status.ok.exitCode }
        // A person may read what the caller did not.
        let isWritten = isOutput && (try? Terminal.write(Terminal.line(of: error) + "\n")) != nil
        if !isWritten {
            Terminal.writeError("tokenkeep: \(Terminal.line(of: error))\n")
        }
        return exitCode ?? error.exitCode
    }
}
