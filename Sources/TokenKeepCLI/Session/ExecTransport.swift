import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// Requests to a server that the command of `--exec` sends.
enum ExecTransport {
    static let purposeVariable = "TOKENKEEP_PURPOSE"
    /// The exit code of a program that has sent nothing: EX_TEMPFAIL of sysexits.h.
    private static let notSent: Int32 = 75

    /// Makes a transport that runs a command line: `sh -c CMD`.
    static func make(_ command: String) -> SessionTransport {
        { request throws(TokenKeepError) in
            let program = ProgramRun(
                ["/bin/sh", "-c", command],
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
}
