package import TokenKeepCore
import TokenKeepKeys

/// The file `sessions/outbox` is there if tokens may wait to be revoked: without it, no call lists the outbox unasked.
package struct OutboxMark: Sendable {
    private static let file = "outbox"
    private let records: Records

    package init(_ records: Records) { self.records = records }

    /// Whether tokens may wait. A vault that cannot be read has none that could be sent. Nothing is made.
    package var isSet: Bool {
        guard let vault = (try? records.open()) ?? nil else { return false }
        let path = "\(SessionFiles.folder)/\(OutboxMark.file)"
        return (try? VaultFiles.exists(path, in: vault.directory.descriptor)) == true
    }

    /// Sets the mark, before and after a token is added.
    package func set() throws(TokenKeepError) {
        let folder = try folder()
        guard try !VaultFiles.exists(OutboxMark.file, in: folder) else { return }
        try [UInt8(ascii: "1")].lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(OutboxMark.file, in: folder, with: bytes)
        }
    }

    /// Removes the mark, after the outbox was found empty.
    package func remove() {
        guard let folder = try? folder() else { return }
        _ = try? SystemCall.remove(OutboxMark.file, in: folder)
    }

    private func folder() throws(TokenKeepError) -> OwnedDescriptor {
        try SessionLock.folder(of: records.openOrMake(CallContext(deadline: Deadline(milliseconds: 5000))).directory)
    }
}
