import TokenKeepCore
import TokenKeepKeys

/// Reads one record (the file of an item) of an open vault.
struct RecordReader {
    let records: Records
    let fileName: [UInt8]
    /// The item's name, from which `fileName` was computed; nil if unknown.
    var item: ItemName?

    /// Reads the record and opens the parts that `body` needs; nil if there is no record.
    ///
    /// If the record needs an unknown or locked key, the header and the record are read again, because the vault's keys
    /// may have changed. If all keys were replaced, the records have new file names. In this case, `vault` becomes the
    /// vault under its new keys, and the result is nil.
    ///
    /// - Returns: the result of `body`, or the fault that makes the record unreadable.
    /// - Throws: the error that makes the vault or the file unreadable.
    func read<Value>(
        _ vault: inout OpenVault, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Result<Value, FormatFault>? {
        guard let first = try attempt(vault, body) else { return nil }
        guard let present = try changedVault(after: first, vault) else { return first }
        let isSameEra = present.era.number == vault.era.number
        vault = present
        return isSameEra ? try attempt(vault, body) : nil
    }

    /// Opens the vault again if changed keys may be the reason that a record is unreadable; otherwise returns nil.
    private func changedVault<Value>(
        after result: Result<Value, FormatFault>, _ vault: OpenVault
    ) throws(TokenKeepError) -> OpenVault? {
        switch result {
        case .failure(.unknownKey): return try records.opener.open(fresh: true)
        case .failure(.lockedKey):
            guard let present = try records.opener.open(), present.headerFile != vault.headerFile else { return nil }
            return present
        default: return nil
        }
    }

    /// The error that reports a record as unreadable because of `fault`.
    func error(_ fault: FormatFault) -> TokenKeepError { fault.error(in: "records/\(Hexadecimal.text(fileName))") }

    private func attempt<Value>(
        _ vault: OpenVault, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Result<Value, FormatFault>? {
        let bytes: [UInt8]?
        do throws(TokenKeepError) {
            bytes = try VaultFiles.readVersioned(
                Hexadecimal.text(fileName), in: vault.records, atMost: RecordPrefix.maximumFile)
        } catch {
            guard error.status == .corrupt else { throw error }
            return .failure(.malformed("it is not a regular file"))
        }
        guard let bytes else { return nil }
        do throws(FormatFault) {
            let file = try RecordFile(bytes, name: fileName, of: item, keys: vault.keys)
            return .success(try body(file, try file.openState()))
        } catch {
            return .failure(error)
        }
    }
}
