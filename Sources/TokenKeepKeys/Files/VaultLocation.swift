import Glibc
package import TokenKeepCore

/// The location of the vault.
///
/// Each user has one vault, whatever a cron job, sudo or a login puts into the environment.
package enum VaultLocation {
    /// The vault's path.
    ///
    /// - Throws: ``Status/invalid`` if a variable holds no absolute path in UTF-8, ``Status/io`` if the user has no
    ///   home.
    package static func path() throws(TokenKeepError) -> String {
        if !Privileges.areRaised {
            if let path = try absolutePath(in: "TOKENKEEP_VAULT") { return path }
            if isSandboxed, let data = try absolutePath(in: "XDG_DATA_HOME") { return data + "/tokenkeep" }
        }
        return try home() + "/.local/share/tokenkeep"
    }

    /// Whether the program runs in Flatpak or Snap. There the application has a data directory of its own, but not its
    /// own home.
    private static var isSandboxed: Bool {
        isInSnap || access("/.flatpak-info", F_OK) == 0
    }

    /// The path in a variable; nil if the variable is unset or empty.
    ///
    /// An unusable value is refused. A fallback to another path would hide the items, or keep new items where nobody
    /// looks for them.
    private static func absolutePath(in variable: String) throws(TokenKeepError) -> String? {
        guard let value = getenv(variable), value.pointee != 0 else { return nil }
        guard let path = String(validatingCString: value), path.utf8.first == UInt8(ascii: "/") else {
            throw TokenKeepError(.invalid, "\(variable) is not an absolute path in UTF-8", module: "vault")
        }
        return withoutTrailingSlashes(path)
    }

    /// Removes trailing slashes: with a slash the system would follow a link in the vault's place.
    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }

    /// Whether the program itself lies in the snap. Programs started by a snap inherit its variables without being part
    /// of it.
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
