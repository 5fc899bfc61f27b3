import Glibc
package import TokenKeepCore

/// Where the vault is: one user, one vault, whatever a cron job, sudo or a login puts into the environment.
package enum VaultLocation {
    /// The vault's path.
    ///
    /// - Throws: ``Status/invalid`` where a variable holds no absolute path in UTF-8; ``Status/io`` where the user has no home.
    package static func path() throws(TokenKeepError) -> String {
        if !Privileges.areRaised {
            if let path = try absolutePath(in: "TOKENKEEP_VAULT") { return path }
            if isSandboxed, let data = try absolutePath(in: "XDG_DATA_HOME") { return data + "/tokenkeep" }
        }
        return try home() + "/.local/share/tokenkeep"
    }

    /// Inside Flatpak and Snap the home is not the application's own: its data directory is.
    private static var isSandboxed: Bool {
        isInSnap || access("/.flatpak-info", F_OK) == 0
    }

    /// The path in a variable; nil where that is unset or empty.
    ///
    /// What is there and cannot be used is refused: another place would hide the items, or keep them where nobody looks.
    private static func absolutePath(in variable: String) throws(TokenKeepError) -> String? {
        guard let value = getenv(variable), value.pointee != 0 else { return nil }
        guard let path = String(validatingCString: value), path.utf8.first == UInt8(ascii: "/") else {
            throw TokenKeepError(.invalid, "\(variable) is not an absolute path in UTF-8", module: "vault")
        }
        return withoutTrailingSlashes(path)
    }

    /// A slash at the end would follow a link that stands in the vault's place.
    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }

    /// Programs that a snap starts inherit its variables: only what lies in the snap itself is inside.
    private static var isInSnap: Bool {
        guard let snap = getenv("SNAP"), snap.pointee != 0, let root = String(validatingCString: snap) else {
            return false
        }
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &target, target.count)
        return length > 0 && target[..<length].lazy.map { UInt8(bitPattern: $0) }.starts(with: (root + "/").utf8)
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
