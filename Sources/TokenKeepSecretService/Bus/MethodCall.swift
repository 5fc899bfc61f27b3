/// A question to an object on the bus.
struct MethodCall {
    let destination: String
    let path: ObjectPath
    let interface: String
    let member: String
    var body = Variant.tuple([])
    /// The type of a well-formed answer, as D-Bus writes it: `(ao)`.
    let answerType: String
}

/// What came back for one question.
enum Reply {
    /// The answer, of the type that was asked for.
    case answer(Variant)
    /// An error of this name; its text is not kept: it is foreign.
    case error(String)
    /// An answer of another type.
    case malformed
    /// No answer: the connection is gone.
    case disconnected

    var isAnswer: Bool {
        guard case .answer = self else { return false }
        return true
    }

    /// The error with this name, as far as the name is one that specifications know: a service can put a secret into
    /// any other.
    static func error(named name: String) -> Reply { .error(ErrorNames.known.contains(name) ? name : ErrorNames.other) }

    /// Whether the other end, or the bus, went away: another connection may find its successor.
    var isLoss: Bool {
        switch self {
        case .disconnected: true
        case .error(let name): Reply.losses.contains(name)
        case .answer, .malformed: false
        }
    }

    private static let losses: Set<String> = [
        "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected",
        "org.freedesktop.Secret.Error.NoSession",
    ]

    /// Whether there is no such object, or no longer.
    var isMissingObject: Bool {
        guard case .error(let name) = self else { return false }
        return Reply.missing.contains(name)
    }

    private static let missing: Set<String> = [
        "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
    ]

    /// Whether there may be no such object: GLib's services answer so for one that is gone, and also where it is there
    /// and the method is not.
    var mayMeanMissing: Bool {
        guard case .error(let name) = self else { return false }
        return Reply.perhapsMissing.contains(name)
    }

    private static let perhapsMissing: Set<String> = [
        "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
    ]

    /// Whether the object is locked.
    var isLocked: Bool {
        guard case .error(let name) = self else { return false }
        return name == "org.freedesktop.Secret.Error.IsLocked"
    }
}
