import CSystemShims
import Glibc
import TokenKeepCore

/// Where the vault is: one user, one vault, whatever a cron job, sudo or a login puts into the environment.
enum VaultLocation {
    /// The vault's path.
    ///
    /// - Throws: ``Status/invalid`` where a variable holds no absolute path in UTF-8; ``Status/io`` where the user has no home.
    static func path() throws(TokenKeepError) -> String {
        let isPrivileged = tokenkeep_is_secure_execution() != 0 || getuid() != geteuid()
        if !isPrivileged {
            if let path = try absolutePath(in: "TOKENKEEP_VAULT") { return path }
            if isSandboxed, let data = try absolutePath(in: "XDG_DATA_HOME") { return data + "/tokenkeep" }
        }
        return try home() + "/.local/share/tokenkeep"
    }

    /// Inside Flatpak and Snap the home is not the application's own: its data directory is.
    private static var isSandboxed: Bool {
        getenv("SNAP") != nil || access("/.flatpak-info", F_OK) == 0
    }

    /// The path in a variable; nil where that is unset or empty.
    ///
    /// What is there and cannot be used is refused: another place would hide the items, or keep them where nobody looks.
    private static func absolutePath(in variable: String) throws(TokenKeepError) -> String? {
        guard let value = getenv(variable), value.pointee != 0 else { return nil }
        guard let path = String(validatingCString: value), path.utf8.first == UInt8(ascii: "/") else {
            throw TokenKeepError(.invalid, "\(variable) is not an absolute path in UTF-8", module: "vault")
        }
        return path
    }

    private static func home() throws(TokenKeepError) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var size = 1024
        while true {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
            defer { buffer.deallocate() }
            let error = getpwuid_r(geteuid(), &entry, buffer, size, &found)
            if error == ERANGE, size < 1 << 20 {
                size *= 4
                continue
            }
            guard error == 0, found != nil, let home = entry.pw_dir, let path = String(validatingCString: home),
                path.utf8.first == UInt8(ascii: "/")
            else {
                throw TokenKeepError(
                    .io, "user \(geteuid()) has no home directory", module: "vault",
                    hint: "set TOKENKEEP_VAULT to an absolute path")
            }
            return path
        }
    }
}
