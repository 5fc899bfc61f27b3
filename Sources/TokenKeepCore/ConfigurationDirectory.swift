import Glibc

/// The user's own configuration of TokenKeep.
package enum ConfigurationDirectory {
    /// `$XDG_CONFIG_HOME/tokenkeep`, or `.config/tokenkeep` in the user's home; nil if there is none.
    ///
    /// A program with more rights than its caller ignores it: a caller's files must not choose where secrets go.
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
