import TokenKeepCore

extension Status {
    /// The program's exit code for this status.
    ///
    /// Statuses share an exit code if a script reacts to these statuses in the same way.
    var exitCode: Int32 {
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
