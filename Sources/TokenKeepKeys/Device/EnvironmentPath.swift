import Glibc
import TokenKeepCore

/// Variables of the environment that replace the standard path of a device.
enum EnvironmentPath {
    /// The variable's value; nil if it is empty or absent, and for a process with raised privileges.
    static func value(_ name: String) -> String? {
        guard !Privileges.areRaised, let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
