import Glibc
import SystemPackage
package import TokenKeepCore
package import TokenKeepKeys

/// The file `sessions/outbox` of a namespace, which exists if tokens may still have to be revoked at the server.
///
/// Without the file, a call need not list such tokens. Each namespace has a separate file, because a call lists only
/// the tokens of its own namespace.
package struct OutboxMark: Sendable {
    private static let prefix = "outbox"
    private let records: Records
    private let file: String

    package init(_ records: Records, namespace: String) {
        self.records = records
        file = namespace.isEmpty ? OutboxMark.prefix : "\(OutboxMark.prefix)-\(OutboxMark.hash(of: namespace))"
    }

    /// Whether tokens of the namespace may still have to be revoked at the server. False if the vault cannot be read.
    /// Makes no file.
    package var isSet: Bool {
        guard let vault = (try? records.open()) ?? nil else { return false }
        return (try? VaultFiles.exists("\(SessionFiles.folder)/\(file)", in: vault.directory.descriptor)) == true
    }

    /// Whether tokens of any namespace may still have to be revoked at the server.
    ///
    /// - Throws: the reason why the vault cannot be read.
    package static func isAnySet(_ records: Records) throws(TokenKeepError) -> Bool {
        guard let vault = try records.open() else { return false }
        var isSet = false
        try VaultFiles.forEachName(in: SessionLock.folder(of: vault.directory)) { name in
            isSet = name.hasPrefix(prefix)
            return !isSet
        }
        return isSet
    }

    /// The file's metadata (stat(2)), which ``set(changing:)`` can change; nil if there is no file.
    package var identity: FileStatus.Identity? {
        guard let folder = try? folder() else { return nil }
        return identity(in: folder)
    }

    private func identity(in folder: OwnedDescriptor) -> FileStatus.Identity? {
        ((try? SystemCall.status(of: file, in: folder.number)) ?? nil)?.identity
    }

    /// Makes the file. Called before and after a token is recorded as still to be revoked.
    ///
    /// Several threads and processes may make the file at once without a lock, because the file's content is not used.
    ///
    /// - Parameter changing: whether ``identity`` changes if the file exists. A process that removes the file notices
    ///   this change.
    package func set(changing: Bool = false) throws(TokenKeepError) {
        guard changing || !isSet else { return }
        let folder = try folder()
        do throws(Errno) {
            let opened = try SystemCall.open(file, in: folder.number, O_WRONLY | O_CREAT | O_NONBLOCK, mode: 0o600)
            if changing, let opened, futimens(opened.number, nil) != 0 { throw Errno(rawValue: errno) }
        } catch {
            throw error.error("cannot write \(file)")
        }
        try VaultFiles.sync(folder, after: "writing \(file)")
    }

    /// Removes the file if `identity` is still the file's metadata. Called if no token of the namespace remains to be
    /// revoked.
    ///
    /// - Returns: whether the file was removed.
    package func remove(if identity: FileStatus.Identity?) -> Bool {
        guard let identity, let folder = try? folder(), self.identity(in: folder) == identity else { return false }
        return (try? SystemCall.remove(file, in: folder)) ?? false
    }

    private func folder() throws(TokenKeepError) -> OwnedDescriptor {
        let call = CallContext(deadline: Deadline(milliseconds: 5000))
        return try SessionLock.folder(of: records.openOrMakeForSessions(call).directory)
    }

    /// The hash of a namespace, for the name of its file, because a namespace may contain characters that a file name
    /// cannot contain, like `/`.
    private static func hash(of namespace: String) -> String {
        Hexadecimal.text(Array(namespace.utf8).withUnsafeBytes { KeyedHash.digest(of: $0, count: 16) })
    }
}
