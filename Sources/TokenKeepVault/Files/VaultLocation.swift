import CSystemShims
import Glibc
import TokenKeepCore

/// Where the vault is: one user, one vault, whatever a cron job, sudo or a login puts into the environment.
enum VaultLocation {
    /// The vault's path.
    ///
    /// - Throws: ``Status/invalid`` for a relative `TOKENKEEP_VAULT`; ``Status/io`` where the user has no home.
    static func path() throws(TokenKeepError) -> String {
        let isPrivileged = tokenkeep_is_secure_execution() != 0 || getuid() != geteuid()
        if !isPrivileged {
            if let path = environment("TOKENKEEP_VAULT") { return try checked(path, "TOKENKEEP_VAULT") }
            if isSandboxed, let data = environment("XDG_DATA_HOME") {
                return try checked(data, "XDG_DATA_HOME") + "/tokenkeep"
            }
        }
        return try home() + "/.local/share/tokenkeep"
    }

    /// Inside Flatpak and Snap the home is not the application's own: its data directory is.
    private static var isSandboxed: Bool {
        environment("SNAP") != nil || access("/.flatpak-info", F_OK) == 0
    }

    private static func environment(_ name: String) -> String? {
        guard let value = getenv(name), value.pointee != 0 else { return nil }
        return String(validatingCString: value)
    }

    private static func checked(_ path: String, _ variable: String) throws(TokenKeepError) -> String {
        guard path.utf8.first == UInt8(ascii: "/") else {
            throw TokenKeepError(.invalid, "\(variable) is not an absolute path", module: "vault")
        }
        return path
    }

    private static func home() throws(TokenKeepError) -> String {
        guard let path = HomeDirectory.path() else {
            throw TokenKeepError(
                .io, "user \(geteuid()) has no home directory", module: "vault",
                hint: "set TOKENKEEP_VAULT to an absolute path")
        }
        return path
    }
}
