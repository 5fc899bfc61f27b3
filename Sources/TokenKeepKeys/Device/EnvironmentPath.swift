import Glibc
import TokenKeepCore

/// Variables of the environment that name another place of a device than the standard one.
enum EnvironmentPath {
    /// The variable's value; nil if it is empty or absent, and for a process with raised privileges.
    static func value(_ name: String) -> String? {
        guard !Privileges.areRaised, let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
