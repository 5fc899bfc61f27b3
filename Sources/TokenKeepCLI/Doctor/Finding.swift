/// One result of a check of `doctor`.
struct Finding: Sendable {
    enum Result: String, Sendable {
        /// The check found nothing wrong.
        case ok
        /// A fact that explains behaviour, but needs no action.
        case note
        /// A cause of failures, or a place where secrets leak.
        case problem
    }

    /// The name of the check.
    let name: String
    let result: Result
    /// The fact that was found. Contains no secret.
    let message: String
    /// The reason why the fact matters; nil for ``Result/ok``.
    let reason: String?
    /// One command that repairs or explains the fact; nil if there is nothing to do.
    let hint: String?

    private init(_ name: String, _ result: Result, _ message: String, because reason: String?, hint: String?) {
        self.name = name
        self.result = result
        self.message = message
        self.reason = reason
        self.hint = hint
    }

    static func ok(_ name: String, _ message: String) -> Finding {
        Finding(name, .ok, message, because: nil, hint: nil)
    }

    static func note(_ name: String, _ message: String, because reason: String, hint: String? = nil) -> Finding {
        Finding(name, .note, message, because: reason, hint: hint)
    }

    static func problem(_ name: String, _ message: String, because reason: String, hint: String) -> Finding {
        Finding(name, .problem, message, because: reason, hint: hint)
    }
}
