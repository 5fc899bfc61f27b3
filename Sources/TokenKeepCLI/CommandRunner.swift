import ArgumentParser
import Glibc
import TokenKeepCore

/// Runs the command that the arguments name and turns its outcome into an exit code.
enum CommandRunner {
    /// Runs the program with the arguments of this process, and returns its exit code.
    static func run() -> Int32 {
        ProcessStart.occupyStandardDescriptors()
        ProcessStart.dieSilently()
        do {
            let arguments = try ProcessStart.arguments()
            try refuseClusteredHelp(arguments)
            try UsageError.refuseUnknownCommand(arguments)
            var command = try TokenKeepCommand.parseAsRoot(arguments)
            try command.run()
            return Status.ok.exitCode
        } catch {
            return end(with: error)
        }
    }

    private static func end(with error: any Error) -> Int32 {
        switch error {
        case let error as TokenKeepError:
            Terminal.report(error)
            return error.exitCode
        case is Terminal.OutputClosed:
            return ExitCodes.readerIsGone
        case let code as ExitCode:
            return code.rawValue
        case _ where TokenKeepCommand.exitCode(for: error) == .success:
            return show(BashCompletion.completed(HelpText.plain(TokenKeepCommand.message(for: error))))
        default:
            let usage = UsageError.make(
                message: TokenKeepCommand.message(for: error),
                arguments: ProcessStart.rawArguments().map { String(cString: $0) })
            Terminal.report(usage)
            return usage.status.exitCode
        }
    }

    /// Writes a help text, the version or a completion script, and returns the exit code.
    private static func show(_ text: String) -> Int32 {
        do {
            try Terminal.write(text.hasSuffix("\n") ? text : text + "\n")
            return Status.ok.exitCode
        } catch {
            return end(with: error)
        }
    }

    /// Refuses an unknown option that begins with `-h`.
    ///
    /// The parser reads any `-h…` as a cluster of one-letter options, shows the help and ends with success. A user who
    /// passed such a token as an argument by mistake would assume that the token was saved.
    private static func refuseClusteredHelp(_ arguments: [String]) throws(TokenKeepError) {
        let options = arguments.prefix { $0 != "--" }
        guard options.contains(where: { $0.hasPrefix("-h") && $0 != "-h" && $0 != "-help" }) else { return }
        let isSave = arguments.first == SaveCommand.configuration.commandName
        throw TokenKeepError(
            .invalid, "an unknown option begins with -h", hint: isSave ? SaveCommand.secretHint : "see tokenkeep --help"
        )
    }
}
