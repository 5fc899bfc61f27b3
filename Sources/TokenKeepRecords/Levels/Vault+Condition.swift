import SystemPackage
import TokenKeepCore

extension Vault {
    /// What a person should know of the vault, one line each.
    ///
    /// - Throws: why it cannot be used.
    func condition() throws(TokenKeepError) -> [String] {
        guard let opened = try open() else { return ["not made yet: the first save makes it"] }
        guard let records = try opened.directory.openRecords() else { throw Vault.recordsMissing(opened.directory) }
        var notes = lockNotes(opened.keys)
        for name in ["header", "header.2"] where try !isThere(name, in: opened.directory.descriptor) {
            notes.append("\(name), one of two copies of the keys, is missing")
        }
        let setAside = try VaultFiles.names(in: records).count {
            $0.split(separator: ".").last?.hasPrefix("corrupt-") == true
        }
        if setAside > 0 { notes.append("unreadable records that were set aside: \(setAside)") }
        return notes
    }

    /// Whether it has a password, is locked, and is as the user left it.
    private func lockNotes(_ keys: KeyHierarchy) -> [String] {
        var notes: [String] = []
        if keys.header.hasPassword {
            let isOpen = keys.isOpen(.level(.afterFirstUnlock))
            let all = keys.isOpen(.level(.whenUnlocked)) ? "" : " but for items of the level when-unlocked"
            notes.append("protected by a password; \(isOpen ? "unlocked\(all)" : "locked")")
        } else {
            notes.append("protected from other users; not from who has the disk (no password)")
        }
        if keys.header.isRekeying {
            notes.append("a change of keys was interrupted: tokenkeep unlock goes on with it")
        }
        return notes
    }

    func isThere(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) -> Bool {
        do throws(Errno) {
            return try SystemCall.status(of: name, in: directory.number) != nil
        } catch {
            throw error.error("cannot inspect \(name)")
        }
    }
}
