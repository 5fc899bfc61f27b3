package import TokenKeepCore
import TokenKeepKeys

/// The stash of a session: the server's answer to a refresh while the session's place is locked or full.
///
/// It is a key of the kernel, `tokenkeep-stash:VAULTID:ID`, and gone after a restart of the machine. Written and dropped
/// under the session's change lock.
package struct SessionStash: Sendable {
    private let records: Records
    private let id: [UInt8]

    package init(_ records: Records, id: [UInt8]) {
        self.records = records
        self.id = id
    }

    /// Replaces the stash.
    ///
    /// - Returns: whether other processes can read it.
    package func write(_ record: SecretBytes) throws(TokenKeepError) -> Bool {
        guard let place = try place() else { return false }
        return records.opener.residentKeys.stash(record, as: place)
    }

    /// The stash; nil if there is none.
    package func read() throws(TokenKeepError) -> SecretBytes? {
        guard let place = try place() else { return nil }
        return try records.opener.residentKeys.stashed(at: place)
    }

    /// Removes the stash.
    package func drop() throws(TokenKeepError) {
        if let place = try place() { records.opener.residentKeys.dropStash(at: place) }
    }

    private func place() throws(TokenKeepError) -> String? {
        guard let vault = try records.open() else { return nil }
        return "tokenkeep-stash:\(Hexadecimal.text(vault.keys.vaultID)):\(Hexadecimal.text(id))"
    }
}
