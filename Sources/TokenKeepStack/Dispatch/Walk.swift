import TokenKeepCore

/// The failures met while modules are asked in order, and which of them is the answer when none had the item.
struct Walk {
    private(set) var worst: TokenKeepError?

    /// A locked or absent place must never look like "no token": earlier here hides later.
    private static let severity: [Status] = [
        .locked, .timedOut, .unavailable, .busy, .denied, .io, .unsupported, .corrupt, .internal, .notFound,
    ]

    /// Notes a failure.
    mutating func met(_ error: TokenKeepError, as control: StackLine.Control) {
        guard control != .optional || error.status == .notFound else { return }
        guard let worst, Walk.rank(worst) <= Walk.rank(error) else {
            self.worst = error
            return
        }
    }

    /// Whether the walk ends with this failure.
    static func ends(with error: TokenKeepError, as control: StackLine.Control) -> Bool {
        switch error.status {
        case .notFound: false
        case .cancelled, .invalid, .forked: true
        default: control == .requisite
        }
    }

    private static func rank(_ error: TokenKeepError) -> Int {
        severity.firstIndex(of: error.status) ?? 0
    }
}
