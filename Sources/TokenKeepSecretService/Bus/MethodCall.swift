/// A method call to an object on the bus.
struct MethodCall {
    let destination: String
    let path: ObjectPath
    let interface: String
    let member: String
    var body = Variant.tuple([])
    /// The D-Bus type of a well-formed answer, for example `(ao)`.
    let answerType: String
}

/// The reply to a method call.
enum Reply {
    /// An answer of the expected D-Bus type.
    case answer(Variant)
    /// An error with this name. Its message is discarded, because another program wrote it.
    case error(String)
    /// A reply whose D-Bus type is not that of the method's answer.
    case malformed
    /// No reply, because the connection is lost.
    case disconnected

    var isAnswer: Bool {
        guard case .answer = self else { return false }
        return true
    }

    /// The error with this name. An unspecified name is replaced by ``ErrorNames/other``, because it could contain a
    /// secret.
    static func error(named name: String) -> Reply { .error(ErrorNames.known.contains(name) ? name : ErrorNames.other) }

    /// Whether the service or the bus has ended, so that the caller should try a new connection.
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

    /// Whether the reply says that the object does not exist.
    var isMissingObject: Bool {
        guard case .error(let name) = self else { return false }
        return Reply.missing.contains(name)
    }

    private static let missing: Set<String> = [
        "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
    ]

    /// Whether the object may be missing. Services on GLib send the same error for a missing method.
    var mayMeanMissing: Bool {
        guard case .error(let name) = self else { return false }
        return Reply.perhapsMissing.contains(name)
    }

    private static let perhapsMissing: Set<String> = [
        "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
    ]

    /// Whether the reply says that the object is locked.
    var isLocked: Bool {
        guard case .error(let name) = self else { return false }
        return name == "org.freedesktop.Secret.Error.IsLocked"
    }
}
