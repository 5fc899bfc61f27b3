import Glibc
import SystemPackage
package import TokenKeepCore

/// The vault's directory, opened and checked: it belongs to the user, and no other user has access.
package struct VaultDirectory {
    package let path: String
    package let descriptor: OwnedDescriptor

    private static let directoryFlags = O_RDONLY | O_DIRECTORY

    /// Opens the directory; nil if it is missing.
    ///
    /// - Throws: ``Status/denied`` if the path is a symbolic link, belongs to another user or is accessible to other
    ///   users.
    package static func open(_ path: String) throws(TokenKeepError) -> VaultDirectory? {
        let descriptor: OwnedDescriptor?
        do throws(Errno) {
            descriptor = try openMending(path)
        } catch {
            if error == .notDirectory || error == .tooManySymbolicLinkLevels {
                throw TokenKeepError(
                    .denied, "\(path) is not a directory, or is a symbolic link", module: "vault",
                    hint: "move it away, or set TOKENKEEP_VAULT to where it leads")
            }
            throw error.error("cannot open \(path)")
        }
        guard let descriptor else { return nil }
        let directory = VaultDirectory(path: path, descriptor: descriptor)
        try directory.checkOwner()
        // Check the parents too, so that no other user can replace this vault by another vault.
        try TrustedPath.check(path, user: geteuid())
        return directory
    }

    /// Opens the directory, after restoring the user's own access rights if an umask has removed these rights.
    private static func openMending(_ path: String) throws(Errno) -> OwnedDescriptor? {
        do throws(Errno) {
            return try SystemCall.open(path, in: AT_FDCWD, directoryFlags)
        } catch {
            guard error == .permissionDenied, let status = try SystemCall.status(of: path, in: AT_FDCWD),
                status.isDirectory, status.owner == geteuid(), status.permissions & 0o177 == 0
            else { throw error }
        }
        try SystemCall.changeMode(of: path, to: 0o700)
        return try SystemCall.open(path, in: AT_FDCWD, directoryFlags)
    }

    /// Durably makes the directory and its missing parents, and opens the directory. Makes nothing at a refused path.
    ///
    /// The parent is synced even if the directory exists, because another process may have made the directory just now.
    package static func make(_ path: String) throws(TokenKeepError) -> VaultDirectory {
        // Check the path before anything is made, because a directory made in another user's home would lock that user
        // out.
        try TrustedPath.check(path, user: geteuid())
        var prefix = ""
        let components = path.split(separator: "/")
        for (index, component) in components.enumerated() {
            let parent = prefix.isEmpty ? "/" : prefix
            prefix += "/" + component
            do throws(Errno) {
                var isNew = false
                if try SystemCall.status(of: prefix, in: AT_FDCWD) == nil {
                    isNew = try SystemCall.makeDirectory(prefix, in: AT_FDCWD)
                }
                guard isNew || index == components.count - 1 else { continue }
                try sync(prefix, in: parent)
            } catch {
                throw error.error("cannot make the directory \(prefix)")
            }
        }
        guard let directory = try open(path) else {
            throw TokenKeepError(.io, "\(path) vanished while it was made", module: "vault")
        }
        return directory
    }

    /// Makes a new directory durable: syncs the parent, which contains the directory's name.
    ///
    /// If the user may not read the parent, the whole file system is synced.
    private static func sync(_ path: String, in parent: String) throws(Errno) {
        do throws(Errno) {
            if let above = try SystemCall.openFollowing(parent, directoryFlags) { try SystemCall.sync(above) }
        } catch {
            guard error == .permissionDenied, let directory = try SystemCall.openFollowing(path, directoryFlags) else {
                throw error
            }
            try SystemCall.syncFileSystem(of: directory)
        }
    }

    /// The remedy if another user owns the vault.
    ///
    /// If root owns the vault, an earlier command with sudo may have made the vault, so the remedy changes the owner.
    private static func remedy(_ path: String, owner: uid_t) -> String {
        if geteuid() == 0 {
            return "run this as its owner: sudo -u '#\(owner)' COMMAND; or set TOKENKEEP_VAULT to another place"
        }
        guard owner == 0 else { return "set TOKENKEEP_VAULT to another place" }
        return "sudo chown -R \(geteuid()) '\(path)', or set TOKENKEEP_VAULT to another place"
    }

    private func checkOwner() throws(TokenKeepError) {
        let status: FileStatus
        do throws(Errno) {
            status = try SystemCall.status(of: descriptor)
        } catch {
            throw error.error("cannot inspect \(path)")
        }
        guard status.owner == geteuid() else {
            throw TokenKeepError(
                .denied, "\(path) belongs to user \(status.owner), not to user \(geteuid())", module: "vault",
                hint: VaultDirectory.remedy(path, owner: status.owner))
        }
        guard status.permissions & 0o077 == 0 else {
            throw TokenKeepError(
                .denied, "\(path) is open to other users (mode \(String(status.permissions, radix: 8)))",
                module: "vault", hint: "chmod 700 '\(path)'")
        }
        // If an umask has taken the user's own right to enter the directory, restore the right.
        if status.permissions & 0o100 == 0 { fchmod(descriptor.number, 0o700) }
    }
}
