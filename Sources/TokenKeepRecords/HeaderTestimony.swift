import TokenKeepCore
import TokenKeepKeys

/// Checks that a vault's header (the file of encrypted keys) belongs to the vault's records.
///
/// An attacker may have replaced the header by a forged or older header, but the records are encrypted under the keys
/// of the genuine header. A header is therefore refused in each of these cases (docs/format.md, "Records testify"):
///
/// - The state of a record is authentic, but the header lacks the key of the record's level, or the header's key does
///   not open the record's metadata.
/// - At least three records belong to another vault or era, or have a state that does not open, and these records
///   outnumber all other records.
enum HeaderTestimony {
    private static let sample = 16
    /// The minimum number of records under other keys that makes a header refused. A smaller number of such records
    /// counts as damaged.
    private static let leastStrangers = 3
    /// The number of file names from which the sample is drawn at first. Because a vault may have many records, the
    /// other names are read only if the records with these names include too few records with a level.
    private static let usualNames = 2048

    /// The numbers of records checked so far: `own` records, whose state opens, and `strangers`, whose state does not
    /// open.
    private struct Heard {
        var own = 0
        var strangers = 0
        var isEnough: Bool { own + strangers == HeaderTestimony.sample }
    }

    /// Checks the vault's header against a random sample of the records that have a level.
    ///
    /// Tombstones, which have no level, prove nothing, because anyone with the keyfile can make them.
    ///
    /// - Throws: ``Status/corrupt`` if the records show that the header is forged or older.
    static func check(_ vault: OpenVault) throws(TokenKeepError) {
        var heard = Heard()
        let first = try RecordNames.first(usualNames, in: vault.records)
        try hear(first, of: vault, &heard)
        if !heard.isEnough, first.count == usualNames {
            let known = Set(first)
            try hear(RecordNames.all(in: vault.records).filter { !known.contains($0) }, of: vault, &heard)
        }
        guard heard.strangers < leastStrangers || heard.strangers <= heard.own else { throw HeaderTrust.refusal }
    }

    private static func hear(
        _ names: [[UInt8]], of vault: OpenVault, _ heard: inout Heard
    ) throws(TokenKeepError) {
        for name in names.shuffled() where !heard.isEnough {
            guard let prefix = (try? RecordPrefix.read(name, in: vault.records)) ?? nil, prefix.level != nil,
                let bytes = try? VaultFiles.readVersioned(
                    Hexadecimal.text(name), in: vault.records, atMost: RecordPrefix.maximumFile)
            else { continue }
            guard let file = try? RecordFile(bytes, name: name, keys: vault.keys), (try? file.openState()) != nil else {
                heard.strangers += 1
                continue
            }
            heard.own += 1
            guard fits(file, vault.keys) else { throw refusal(because: Hexadecimal.text(name)) }
        }
    }

    private static func refusal(because record: String) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "\(HeaderTrust.refusal.message): records/\(record) is sealed under a key that it does not know",
            module: "vault",
            hint:
                "nothing was changed; put the vault's own header and keyfile back; if they are right, the record is not: "
                + "move it away")
    }

    /// Whether the header has the keys of a record. The caller has checked that the record's state is authentic.
    private static func fits(_ file: RecordFile, _ keys: KeyRing) -> Bool {
        guard let level = file.prefix.level else { return true }
        // After a recovery of the password without the device, the header lacks the keys of such records permanently.
        let mayBeLost = level.needsDevice && keys.header.device != nil
        guard mayBeLost || keys.header.names(file.prefix.classKeyID, .level(level)) else { return false }
        do throws(FormatFault) {
            // Only the decryption is checked. A malformed field in authentic metadata means a damaged record, not a
            // wrong header.
            _ = try file.openMetadataBox()
            return true
        } catch {
            switch error {
            case .malformed, .unknownKey, .newerVersion, .refusedHeader: return false
            case .lockedKey, .deviceFault, .unenforcedKey, .presenceNeeded, .resources: return true
            }
        }
    }
}
