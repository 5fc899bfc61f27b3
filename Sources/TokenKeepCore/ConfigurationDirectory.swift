import Glibc

/// The directory of the user's configuration files for TokenKeep.
package enum ConfigurationDirectory {
    /// `$XDG_CONFIG_HOME/tokenkeep`, or `.config/tokenkeep` in the user's home; nil if the user has no home.
    ///
    /// The path is always nil in a program with more rights than its caller (setuid), because the caller's files must
    /// not choose where secrets go.
    package static func path() -> String? {
        guard !Privileges.areRaised else { return nil }
        if let value = getenv("XDG_CONFIG_HOME"), let path = String(validatingCString: value),
            path.utf8.first == UInt8(ascii: "/")
        {
            return path + "/tokenkeep"
        }
        return HomeDirectory.path().map { $0 + "/.config/tokenkeep" }
    }
}
