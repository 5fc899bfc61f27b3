import TokenKeepCore

/// The exit codes of the program, as those of `tokenkeep`.
enum ExitCode {
    static func of(_ status: Status) -> Int32 {
        switch status {
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
