import TokenKeepCore

/// The D-Bus error that answers a call.
struct Refusal: Error, Sendable {
    let name: String
    /// A sentence for the caller. Never holds a secret or an attribute's value.
    let message: String

    init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }

    private static let specification = "org.freedesktop.Secret.Error."
    private static let bus = "org.freedesktop.DBus.Error."

    static let isLocked = Refusal(specification + "IsLocked", "the vault is locked: run tokenkeep unlock")
    static let noSession = Refusal(specification + "NoSession", "there is no such session")

    static func isLocked(_ message: String) -> Refusal { Refusal(specification + "IsLocked", message) }
    static func noSuchObject(_ message: String) -> Refusal { Refusal(specification + "NoSuchObject", message) }
    static func alreadyExists(_ message: String) -> Refusal { Refusal(specification + "AlreadyExists", message) }
    static func invalid(_ message: String) -> Refusal { Refusal(bus + "InvalidArgs", message) }
    static func unknownObject(_ message: String) -> Refusal { Refusal(bus + "UnknownObject", message) }
    static func unknownMethod(_ message: String) -> Refusal { Refusal(bus + "UnknownMethod", message) }
    static func unknownInterface(_ message: String) -> Refusal { Refusal(bus + "UnknownInterface", message) }
    static func unknownProperty(_ message: String) -> Refusal { Refusal(bus + "UnknownProperty", message) }
    static func readOnly(_ message: String) -> Refusal { Refusal(bus + "PropertyReadOnly", message) }
    static func notSupported(_ message: String) -> Refusal { Refusal(bus + "NotSupported", message) }
    static func denied(_ message: String) -> Refusal { Refusal(bus + "AccessDenied", message) }
    static func limit(_ message: String) -> Refusal { Refusal(bus + "LimitsExceeded", message) }
    static func failed(_ message: String) -> Refusal { Refusal(bus + "Failed", message) }

    /// The error for a failure of the vault.
    init(_ error: TokenKeepError) {
        let name =
            switch error.status {
            case .locked: Refusal.specification + "IsLocked"
            case .notFound: Refusal.specification + "NoSuchObject"
            case .invalid: Refusal.bus + "InvalidArgs"
            case .policy, .denied: Refusal.bus + "AccessDenied"
            case .timedOut, .busy: Refusal.bus + "Timeout"
            case .io: Refusal.bus + "IOError"
            case .unsupported: Refusal.bus + "NotSupported"
            default: Refusal.bus + "Failed"
            }
        self.init(name, error.hint.map { "\(error.message) (\($0))" } ?? error.message)
    }
}
