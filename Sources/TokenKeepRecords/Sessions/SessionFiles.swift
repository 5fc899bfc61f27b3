import Glibc
import SystemPackage
package import TokenKeepCore
import TokenKeepKeys

/// The directory `sessions` of the vault's current `era-N` directory: a file for each session, and a file for each
/// service's active account.
///
/// The files contain no tokens. A process changes a file only while it holds the lock of the session's item, so a
/// replacement of the vault's keys copies the file either before or after the change.
package struct SessionFiles: Sendable {
    static let folder = "sessions"
    private static let activeSuffix = ".active"
    private let records: Records

    package init(_ records: Records) { self.records = records }

    /// Reads the file about a session (a signed-in account) or about a service's active account; nil if it is missing.
    ///
    /// - Parameter name: the session's name; for an active account, the service's name with an empty account.
    /// - Throws: ``Status/corrupt`` if the file is damaged.
    package func read(_ kind: SessionFile.Kind, of name: ItemName) throws(TokenKeepError) -> SessionFile? {
        guard var vault = try records.open() else { return nil }
        while true {
            if let found = try SessionFiles.read(kind, vault.keys.fileName(of: name), in: vault) { return found }
            // If the vault's keys were replaced meanwhile, search again, because the file now has another name.
            guard let present = try records.open(), present.era.number != vault.era.number else { return nil }
            vault = present
        }
    }

    /// Changes the file about a session, or about a service's active account, durably and while the item is locked.
    ///
    /// A damaged file is first renamed to `NAME.corrupt-N`.
    ///
    /// - Parameter isKeptAtOnce: whether the change survives a loss of power as soon as this call returns. If false, a
    ///   loss of power may restore the complete earlier file.
    /// - Parameter body: gets the present file, or nil if the file is missing or damaged. Returns the new state, or nil
    ///   to change nothing.
    package func change(
        _ kind: SessionFile.Kind, of name: ItemName, _ call: CallContext, isKeptAtOnce: Bool = true,
        _ body: (SessionFile?) throws(TokenKeepError) -> [UInt8]?
    ) throws(TokenKeepError) {
        let before = try records.openOrMakeForSessions(call)
        let lock = try VaultLock(.item(id: before.keys.journal.id(of: name)), of: before.directory, call)
        defer { lock.release() }
        let vault = try records.reopen(before, call)
        let fileName = vault.keys.fileName(of: name)
        var present: SessionFile?
        var isDamaged = false
        do throws(TokenKeepError) {
            present = try SessionFiles.read(kind, fileName, in: vault)
        } catch {
            guard error.status == .corrupt else { throw error }
            isDamaged = true
        }
        guard let state = try body(present) else { return }
        let shown = SessionFiles.shown(kind, fileName)
        let folder = try EraFolder(name: SessionFiles.folder, era: vault.era).openOrMake(isDurable: true)
        if isDamaged { try VaultFiles.setAside(shown, in: folder) }
        var file = present ?? SessionFile(kind: kind, state: [], name: name)
        file.state = state
        file.name = name
        try SessionFiles.write(file, fileName, in: folder, vault.keys, isKeptAtOnce ? .durable : .whole)
    }

    /// Reads the state files of all sessions. Skips and counts damaged files.
    package func notes() throws(TokenKeepError) -> (files: [SessionFile], damaged: Int) {
        guard let vault = try records.open(),
            let folder = try EraFolder(name: SessionFiles.folder, era: vault.era).open()
        else { return ([], 0) }
        var files: [SessionFile] = []
        var damaged = 0
        for name in try RecordNames.all(in: folder) {
            do throws(TokenKeepError) {
                if let file = try SessionFiles.read(.note, name, in: vault) { files.append(file) }
            } catch {
                guard error.status == .corrupt else { throw error }
                damaged += 1
            }
        }
        return (files, damaged)
    }

    /// The 16-byte ID of a session's name, which stays the same when the vault's keys are replaced.
    package func id(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [UInt8] {
        try records.openOrMakeForSessions(call).keys.journal.id(of: name)
    }

    /// The keyed fingerprint of a token, 16 bytes. Allows comparison with a token that is not stored.
    package func fingerprint(of token: SecretBytes, _ call: CallContext) throws(TokenKeepError) -> [UInt8] {
        try records.openOrMakeForSessions(call).keys.journal.fingerprint(of: token)
    }

    private static func shown(_ kind: SessionFile.Kind, _ fileName: [UInt8]) -> String {
        Hexadecimal.text(fileName) + (kind == .active ? activeSuffix : "")
    }

    /// Whether this suffix of a file's name marks the file about an active account.
    static func isActive(suffix: UnsafePointer<CChar>) -> Bool { strcmp(suffix, activeSuffix) == 0 }

    /// Reads the file about a session; nil if the file is missing.
    ///
    /// - Throws: ``Status/corrupt`` if the file is damaged.
    static func note(_ fileName: [UInt8], in vault: OpenVault) throws(TokenKeepError) -> SessionFile? {
        try read(.note, fileName, in: vault)
    }

    private static func read(
        _ kind: SessionFile.Kind, _ fileName: [UInt8], in vault: OpenVault
    ) throws(TokenKeepError) -> SessionFile? {
        let path = "\(folder)/\(shown(kind, fileName))"
        guard let bytes = try VaultFiles.readVersioned(path, in: vault.era.descriptor, atMost: SessionFile.maximumFile)
        else { return nil }
        do throws(FormatFault) {
            return try bytes.lent { bytes throws(FormatFault) in
                try SessionFile.parse(bytes, kind: kind, fileName: fileName, keys: vault.keys)
            }
        } catch {
            throw error.error(in: path)
        }
    }

    private static func write(
        _ file: SessionFile, _ fileName: [UInt8], in directory: OwnedDescriptor, _ keys: KeyRing,
        _ durability: VaultFiles.Durability
    ) throws(TokenKeepError) {
        let shown = shown(file.kind, fileName)
        let bytes: [UInt8]
        do throws(FormatFault) {
            bytes = try file.serialized(fileName: fileName, keys: keys)
        } catch {
            throw error.error(in: "\(folder)/\(shown)")
        }
        try bytes.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(shown, in: directory, with: bytes, durability)
        }
    }

    /// Copies the files of all sessions to the new keys and file names when the vault's keys are replaced.
    ///
    /// Called under the lock of the whole vault. A file that is damaged or without readable names is not copied; a new
    /// file is later made from the session's item in the vault.
    static func carry(from before: OpenVault, to after: OpenVault) throws(TokenKeepError) {
        guard let old = try EraFolder(name: folder, era: before.era).open() else { return }
        let new = try EraFolder(name: folder, era: after.era).openOrMake(isDurable: false)
        for name in try VaultFiles.names(in: old) {
            let kind: SessionFile.Kind = name.hasSuffix(activeSuffix) ? .active : .note
            let stem = kind == .active ? String(name.dropLast(activeSuffix.count)) : name
            guard let fileName = Hexadecimal.bytes(stem, count: 16),
                let file = try? read(kind, fileName, in: before), let item = file.name
            else { continue }
            try write(file, after.keys.fileName(of: item), in: new, after.keys, .none)
        }
        // Remove the file `slots`, so that every program with a token in memory reads its session again.
        _ = try? SystemCall.remove("\(folder)/\(ChangeMarks.file)", in: before.directory.descriptor)
    }
}
