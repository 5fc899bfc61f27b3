import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The file `sessions/outbox`, which exists if tokens may be waiting to be revoked at the server.
///
/// Without the file, a call need not list the waiting tokens.
package struct OutboxMark: Sendable {
    private static let file = "outbox"
    private let records: Records

    package init(_ records: Records) { self.records = records }

    /// Whether tokens may be waiting to be revoked at the server. False if the vault cannot be read. Makes no file.
    package var isSet: Bool {
        guard let vault = (try? records.open()) ?? nil else { return false }
        let path = "\(SessionFiles.folder)/\(OutboxMark.file)"
        return (try? VaultFiles.exists(path, in: vault.directory.descriptor)) == true
    }

    /// Makes the file `outbox`. Called before and after a token is added to the tokens that wait to be revoked.
    ///
    /// Several threads and processes may do so at once: no lock is held, and the file's content says nothing.
    package func set() throws(TokenKeepError) {
        guard !isSet else { return }
        let folder = try folder()
        do throws(Errno) {
            _ = try SystemCall.open(OutboxMark.file, in: folder.number, O_WRONLY | O_CREAT | O_NONBLOCK, mode: 0o600)
        } catch {
            throw error.error("cannot write \(OutboxMark.file)")
        }
        try VaultFiles.sync(folder, after: "writing \(OutboxMark.file)")
    }

    /// Removes the file `outbox`. Called if no token waits to be revoked.
    package func remove() {
        guard let folder = try? folder() else { return }
        _ = try? SystemCall.remove(OutboxMark.file, in: folder)
    }

    private func folder() throws(TokenKeepError) -> OwnedDescriptor {
        let call = CallContext(deadline: Deadline(milliseconds: 5000))
        return try SessionLock.folder(of: records.openOrMakeForSessions(call).directory)
    }
}
