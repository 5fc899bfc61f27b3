import Glibc
package import TokenKeepCore

extension Status {
    /// The program's exit code for this status.
    ///
    /// Statuses to which a script reacts in the same way have the same exit code.
    package var exitCode: Int32 {
        switch self {
        case .ok: 0
        case .notFound: 1
        case .invalid: 2
        case .locked, .needsLogin: 3
        case .unavailable, .timedOut, .unsupported, .busy: 4
        case .cancelled, .denied, .policy: 5
        case .expired, .conflict, .duplicate: 6
        case .corrupt, .io, .forked: 7
        case .internal: 70
        }
    }
}

extension TokenKeepError {
    /// The program's exit code for this error.
    ///
    /// ``Status/io`` gives 7 if the vault or this machine's disk failed. It gives 4 if another module failed, or if
    /// memory, threads or descriptors are exhausted, because such a failure may be temporary.
    package var exitCode: Int32 {
        let isElsewhere = isShortage || (module ?? "vault") != "vault"
        if status == .io, isElsewhere { return Status.unavailable.exitCode }
        return status.exitCode
    }
}

/// The program's exit codes that do not correspond to a status.
package enum ExitCodes {
    /// The exit code if the reader of standard output has closed the pipe. A shell reports the same code for a program
    /// that SIGPIPE ended.
    package static let readerIsGone: Int32 = 128 + SIGPIPE
    /// The exit code, as in a shell, if the program to execute exists but cannot be executed.
    package static let cannotRun: Int32 = 126
    /// The exit code, as in a shell, if the program to execute does not exist.
    package static let noSuchCommand: Int32 = 127
}
