import ArgumentParser
import CSystemShims
import Glibc
import TokenKeepCore

/// Runs the command that the arguments name and turns its outcome into an exit code.
enum CommandRunner {
    /// Runs the program and returns its exit code.
    static func run() -> Int32 {
        occupyStandardDescriptors()
        dieSilently()
        do {
            let arguments = try arguments()
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
            return show(HelpText.plain(TokenKeepCommand.message(for: error)))
        default:
            let usage = UsageError.make(
                message: TokenKeepCommand.message(for: error), arguments: rawArguments().map { String(cString: $0) })
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

    /// The arguments as the caller gave them.
    ///
    /// `CommandLine.arguments` replaces invalid UTF-8, and would so name another item than the caller. It is empty
    /// without `/proc`.
    private static func arguments() throws(TokenKeepError) -> [String] {
        var result: [String] = []
        for (index, bytes) in rawArguments().enumerated().dropFirst() {
            guard let argument = String(validatingCString: bytes) else {
                throw TokenKeepError(.invalid, "argument \(index) is not UTF-8")
            }
            result.append(argument)
        }
        return result
    }

    /// The arguments of the process, the program's name first.
    private static func rawArguments() -> [UnsafeMutablePointer<CChar>] {
        var result: [UnsafeMutablePointer<CChar>] = []
        guard let arguments = tokenkeep_process_arguments() else { return result }
        while let argument = arguments[result.count] { result.append(argument) }
        return result
    }

    /// Refuses an unknown option that begins with `-h`.
    ///
    /// The parser reads any `-h…` as a cluster of one-letter options and shows the help with success. A token that
    /// was given as an argument by mistake would seem to be saved.
    private static func refuseClusteredHelp(_ arguments: [String]) throws(TokenKeepError) {
        let options = arguments.prefix { $0 != "--" }
        guard options.contains(where: { $0.hasPrefix("-h") && $0 != "-h" && $0 != "-help" }) else { return }
        let isSave = arguments.first == SaveCommand.configuration.commandName
        throw TokenKeepError(
            .invalid, "an unknown option begins with -h", hint: isSave ? SaveCommand.secretHint : "see tokenkeep --help"
        )
    }

    /// Restores the default action of the crash signals, so that the program ends without a dump.
    ///
    /// Swift's runtime answers these signals with a backtrace and the memory around it, on the terminal or in a log.
    /// This memory may hold secrets. An ignored signal stays ignored.
    private static func dieSilently() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            var action = sigaction()
            sigaction(number, nil, &action)
            let isIgnored = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1  // SIG_IGN
            if !isIgnored { signal(number, SIG_DFL) }
        }
    }

    /// Opens `/dev/null` for every closed standard descriptor.
    ///
    /// Otherwise the next opened file would get the number of the closed descriptor: a secret for standard output would
    /// land in a file of the vault. Each `/dev/null` is opened for the wrong direction, so that its use fails as on a
    /// closed descriptor.
    private static func occupyStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest free number, and all lower descriptors are open by now.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
