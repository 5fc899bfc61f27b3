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
    package func set() throws(TokenKeepError) {
        let folder = try folder()
        guard try !VaultFiles.exists(OutboxMark.file, in: folder) else { return }
        try [UInt8(ascii: "1")].lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(OutboxMark.file, in: folder, with: bytes)
        }
    }

    /// Removes the file `outbox`. Called if no token waits to be revoked.
    package func remove() {
        guard let folder = try? folder() else { return }
        _ = try? SystemCall.remove(OutboxMark.file, in: folder)
    }

    private func folder() throws(TokenKeepError) -> OwnedDescriptor {
        try SessionLock.folder(of: records.openOrMake(CallContext(deadline: Deadline(milliseconds: 5000))).directory)
    }
}
