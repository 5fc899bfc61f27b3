import Glibc
package import TokenKeepCore

extension Status {
    /// The program's exit code for this status.
    ///
    /// Statuses share an exit code if a script reacts to these statuses in the same way.
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
    /// 7 tells of the vault and of this machine's disk. Exit code 4 tells that another module fails, or that the machine
    /// lacks memory, threads or descriptors: both may be over later.
    package var exitCode: Int32 {
        let isElsewhere = isShortage || (module ?? "vault") != "vault"
        if status == .io, isElsewhere { return Status.unavailable.exitCode }
        return status.exitCode
    }
}

/// The program's exit codes that no status has.
package enum ExitCodes {
    /// The reader of standard output is gone: the code that a shell shows for a program that SIGPIPE ended.
    package static let readerIsGone: Int32 = 128 + SIGPIPE
    /// A command cannot be run.
    package static let cannotRun: Int32 = 126
    /// There is no such command.
    package static let noSuchCommand: Int32 = 127
}
