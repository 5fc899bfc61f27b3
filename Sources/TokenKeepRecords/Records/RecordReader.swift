import Glibc
import SystemPackage
import TokenKeepCore

/// Reads one record of an open vault.
struct RecordReader {
    let vault: Vault
    let records: OwnedDescriptor
    let fileName: [UInt8]

    /// Reads the record and opens what `body` asks of it; nil where there is none.
    ///
    /// Where it names a key that is not known, header and record are read again, once: the keys may have changed.
    ///
    /// - Returns: what `body` returns, or why the record cannot be read.
    /// - Throws: where the vault itself cannot be read, which says nothing about the record.
    func read<Value>(
        _ opened: inout Vault.Opened, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Result<Value, FormatFault>? {
        guard let first = try attempt(opened.keys, body) else { return nil }
        guard let keys = try newKeys(after: first, opened) else { return first }
        opened = Vault.Opened(directory: opened.directory, keys: keys)
        return try attempt(keys, body)
    }

    /// The keys after they changed; nil where they did not, or need not have.
    private func newKeys<Value>(
        after result: Result<Value, FormatFault>, _ opened: Vault.Opened
    ) throws(TokenKeepError) -> KeyHierarchy? {
        switch result {
        case .failure(.unknownKey): return try vault.cache.keys(of: opened.directory, fresh: true)
        case .failure(.lockedKey):
            // A key that was replaced meanwhile is gone; the record is sealed under another since.
            guard let keys = try vault.cache.keys(of: opened.directory),
                keys.header.epoch != opened.keys.header.epoch
            else { return nil }
            return keys
        default: return nil
        }
    }

    /// The error of a record that cannot be read.
    func error(_ fault: FormatFault) -> TokenKeepError {
        fault.error(in: "records/\(RecordNames.fileName(fileName))")
    }

    private func attempt<Value>(
        _ keys: KeyHierarchy, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Result<Value, FormatFault>? {
        let bytes: [UInt8]?
        do throws(TokenKeepError) {
            bytes = try VaultFiles.readVersioned(
                RecordNames.fileName(fileName), in: records, atMost: RecordPrefix.maximumFile)
        } catch {
            guard error.status == .corrupt else { throw error }
            return .failure(.malformed("it is not a regular file"))
        }
        guard let bytes else { return nil }
        do throws(FormatFault) {
            let file = try RecordFile(bytes, name: fileName, keys: keys)
            return .success(try body(file, try file.openState(in: vault.arena)))
        } catch {
            return .failure(error)
        }
    }
}
