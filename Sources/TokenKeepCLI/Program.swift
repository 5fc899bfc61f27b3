import ArgumentParser
import Glibc
import TokenKeepCore

/// Runs the command that the arguments name and turns whatever happens into an exit code.
enum Program {
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
            return error.status.exitCode
        case is Terminal.OutputClosed:
            return Status.io.exitCode
        case _ where TokenKeepCommand.exitCode(for: error) == .success:
            return show(TokenKeepCommand.message(for: error))
        default:
            let usage = UsageError.make(
                message: TokenKeepCommand.message(for: error), arguments: CommandLine.arguments)
            Terminal.report(usage)
            return usage.status.exitCode
        }
    }

    /// A help text, the version or a completion script.
    private static func show(_ text: String) -> Int32 {
        do {
            try Terminal.write(text.hasSuffix("\n") ? text : text + "\n")
            return Status.ok.exitCode
        } catch {
            return end(with: error)
        }
    }

    /// The arguments as they were given: `CommandLine.arguments` repairs what is not UTF-8, and so would name another
    /// item than the caller did.
    private static func arguments() throws(TokenKeepError) -> [String] {
        var result: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let bytes = CommandLine.unsafeArgv[index] else { break }
            guard let argument = String(validatingCString: bytes) else {
                throw TokenKeepError(.invalid, "argument \(index) is not UTF-8")
            }
            result.append(argument)
        }
        return result
    }

    /// The parser takes any `-h…` for a cluster of one-letter options and shows the help: a token given by mistake as an
    /// argument would seem to be saved.
    private static func refuseClusteredHelp(_ arguments: [String]) throws(TokenKeepError) {
        let options = arguments.prefix { $0 != "--" }
        guard options.contains(where: { $0.hasPrefix("-h") && $0 != "-h" && $0 != "-help" }) else { return }
        let isSave = arguments.first == SaveCommand.configuration.commandName
        throw TokenKeepError(
            .invalid, "an unknown option begins with -h", hint: isSave ? SaveCommand.secretHint : "see tokenkeep --help"
        )
    }

    /// Swift's runtime answers these signals with a backtrace and the memory around it, on the terminal or in a log. A
    /// program that holds secrets just ends.
    private static func dieSilently() {
        for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGBUS, SIGSEGV] {
            var action = sigaction()
            sigaction(number, nil, &action)
            let isIgnored = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1  // SIG_IGN
            if !isIgnored { signal(number, SIG_DFL) }
        }
    }

    /// A standard descriptor that is closed would be the next one that is opened: a secret for standard output would
    /// land in a file of the vault. What stands in for it fails as a closed one does.
    private static func occupyStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is given, and those below are taken.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
