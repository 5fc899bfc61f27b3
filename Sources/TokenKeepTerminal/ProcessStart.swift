import CSystemShims
import Glibc
package import TokenKeepCore

/// The first steps of each program: reads its arguments unchanged, occupies descriptors, and prevents dumps of secrets.
package enum ProcessStart {
    /// The arguments exactly as the caller passed them, without the program's name.
    ///
    /// `CommandLine.arguments` is not used. It replaces invalid UTF-8, so a name could become that of another item, and
    /// it is empty if `/proc` is not mounted.
    ///
    /// - Throws: ``Status/invalid`` if an argument is not UTF-8.
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

    /// The arguments of the process; the first is the program's name.
    package static func rawArguments() -> [UnsafeMutablePointer<CChar>] {
        var result: [UnsafeMutablePointer<CChar>] = []
        guard let arguments = tokenkeep_process_arguments() else { return result }
        while let argument = arguments[result.count] { result.append(argument) }
        return result
    }

    /// Restores the default action of the crash signals, so that a crash prints no content of memory.
    ///
    /// Without this call, Swift's runtime prints a backtrace and the memory around the crash, on the terminal or into a
    /// log, and this memory may contain secrets. An ignored signal stays ignored.
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
    /// Otherwise, the next opened file would get the number of the closed descriptor, and a secret for standard output
    /// could be written into a file of the vault. `/dev/null` is opened for writing as standard input, and for reading
    /// as the others, so that reads and writes fail as on a closed descriptor.
    package static func occupyStandardDescriptors() {
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // open() returns the lowest free number, and all lower descriptors are open by now.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
