import Glibc
import TokenKeepCore

/// Environment variables that replace the standard path of a device.
enum EnvironmentPath {
    /// The variable's value; nil if the variable is empty or absent, or if the process has raised privileges.
    static func value(_ name: String) -> String? {
        guard !Privileges.areRaised, let value = getenv(name), value[0] != 0 else { return nil }
        return String(cString: value)
    }
}
