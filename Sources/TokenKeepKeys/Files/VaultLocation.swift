import Glibc
package import TokenKeepCore

/// Finds the directory of the user's vault.
///
/// Cron jobs, sudo and logins provide different environments, but find the same vault.
package enum VaultLocation {
    /// The path of the vault's directory.
    ///
    /// - Throws: ``Status/invalid`` if the path in an environment variable is not absolute or not UTF-8,
    ///   ``Status/unavailable`` if the user has no home directory.
    package static func path() throws(TokenKeepError) -> String {
        if !Privileges.areRaised {
            if let path = try absolutePath(in: "TOKENKEEP_VAULT") { return path }
            if isSandboxed, let data = try absolutePath(in: "XDG_DATA_HOME") { return data + "/tokenkeep" }
        }
        return try home() + "/.local/share/tokenkeep"
    }

    /// Whether the program runs in Flatpak or Snap.
    ///
    /// An application in Flatpak or Snap has its own data directory, apart from the user's home directory.
    private static var isSandboxed: Bool {
        isInSnap || access("/.flatpak-info", F_OK) == 0
    }

    /// The path in an environment variable; nil if the variable is unset or empty.
    ///
    /// Throws if the value is not an absolute path. With another path in its place, the user's items would seem to be
    /// missing.
    private static func absolutePath(in variable: String) throws(TokenKeepError) -> String? {
        guard let value = getenv(variable), value.pointee != 0 else { return nil }
        guard let path = String(validatingCString: value), path.utf8.first == UInt8(ascii: "/") else {
            throw TokenKeepError(.invalid, "\(variable) is not an absolute path in UTF-8", module: "vault")
        }
        return withoutTrailingSlashes(path)
    }

    /// Removes slashes at the end of a path, which would make the system follow a symbolic link at the vault's path.
    private static func withoutTrailingSlashes(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        return path
    }

    /// Whether the program's own file is in the snap.
    ///
    /// A program that a snap starts inherits the snap's environment variables without being part of the snap.
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
                .unavailable, "user \(geteuid()) has no home directory", module: "vault",
                hint: "set TOKENKEEP_VAULT to an absolute path")
        }
        return path
    }
}
