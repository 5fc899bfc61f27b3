/// The names of D-Bus errors that a message to the user may contain.
enum ErrorNames {
    /// The text that replaces every name outside ``known``.
    static let other = "an error of its own"

    /// The names that D-Bus and the Secret Service specify, and one name of GLib.
    static let known = Set(
        bus.map { "org.freedesktop.DBus.Error." + $0 } + service.map { "org.freedesktop.Secret.Error." + $0 }
            + ["org.gtk.GDBus.Failed"])

    private static let bus = [
        "AccessDenied", "AddressInUse", "AuthFailed", "BadAddress", "Disconnected", "Failed", "FileExists",
        "FileNotFound", "IOError", "InconsistentMessage", "InteractiveAuthorizationRequired", "InvalidArgs",
        "InvalidSignature", "LimitsExceeded", "MatchRuleInvalid", "MatchRuleNotFound", "NameHasNoOwner", "NoMemory",
        "NoNetwork", "NoReply", "NoServer", "NotSupported", "PropertyReadOnly", "ServiceUnknown", "Spawn.ChildExited",
        "Spawn.ChildSignaled", "Spawn.ConfigInvalid", "Spawn.ExecFailed", "Spawn.Failed", "Spawn.FileInvalid",
        "Spawn.ForkFailed", "Spawn.NoMemory", "Spawn.PermissionsInvalid", "Spawn.ServiceNotFound",
        "Spawn.ServiceNotValid", "Spawn.SetupFailed", "TimedOut", "Timeout", "UnixProcessIdUnknown",
        "UnknownInterface", "UnknownMethod", "UnknownObject", "UnknownProperty",
    ]
    private static let service = ["AlreadyExists", "IsLocked", "NoSession", "NoSuchObject"]
}
