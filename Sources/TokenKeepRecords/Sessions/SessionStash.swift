package import TokenKeepCore
import TokenKeepKeys

/// Stores the server's answer to a token refresh in a kernel key while the vault cannot store the answer.
///
/// The vault cannot store the answer while the session's record is locked or the disk is full. The kernel key
/// `tokenkeep-stash:VAULTID:ID` holds the answer until the machine is restarted. A process writes or removes this key
/// only while it holds the session's ``SessionLock`` for changes.
package struct SessionStash: Sendable {
    private let records: Records
    private let id: [UInt8]

    package init(_ records: Records, id: [UInt8]) {
        self.records = records
        self.id = id
    }

    /// Stores the server's answer to a token refresh until the vault can store it. Replaces an earlier answer.
    ///
    /// - Returns: whether other processes can read the answer.
    package func write(_ record: SecretBytes) throws(TokenKeepError) -> Bool {
        guard let place = try place() else { return false }
        return records.opener.residentKeys.stash(record, as: place)
    }

    /// The stored answer to a token refresh, which the vault must still store; nil if there is none.
    package func read() throws(TokenKeepError) -> SecretBytes? {
        guard let place = try place() else { return nil }
        return try records.opener.residentKeys.stashed(at: place)
    }

    /// Removes the stored answer to a token refresh, because the vault has it or it is no longer needed.
    package func drop() throws(TokenKeepError) {
        if let place = try place() { records.opener.residentKeys.dropStash(at: place) }
    }

    private func place() throws(TokenKeepError) -> String? {
        guard let vault = try records.open() else { return nil }
        return ClassKeyPlace.stashes(vault.keys.vaultID) + Hexadecimal.text(id)
    }
}
