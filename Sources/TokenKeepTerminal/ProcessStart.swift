import CSystemShims
import Glibc
package import TokenKeepCore

/// The first steps of each program: reads its arguments as they are, occupies descriptors, and prevents dumps of secrets.
package enum ProcessStart {
    /// The arguments as the caller gave them.
    ///
    /// `CommandLine.arguments` replaces invalid UTF-8, and would so name another item than the caller. It is empty
    /// without `/proc`.
    package static func arguments() throws(TokenKeepError) -> [String] {
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
    package static func rawArguments() -> [UnsafeMutablePointer<CChar>] {
        var result: [UnsafeMutablePointer<CChar>] = []
        guard let arguments = tokenkeep_process_arguments() else { return result }
        while let argument = arguments[result.count] { result.append(argument) }
        return result
    }

    /// Restores the default action of the crash signals, so that the program ends without a dump.
    ///
    /// Swift's runtime answers these signals with a backtrace and the memory around it, on the terminal or in a log.
    /// This memory may hold secrets. An ignored signal stays ignored.
    package static func dieSilently() {
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
    package static func occupyStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest free number, and all lower descriptors are open by now.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
