import TokenKeepCore
import TokenKeepKeys

/// Checks the header against the records (docs/format.md, "Records testify").
///
/// All records of an era are sealed under the current keys of its header. Two observations refute a header: somebody
/// with the keyfile made another header, or put back an older one.
///
/// - A record with an authentic state names another class key, or the header's key does not open the record's metadata.
/// - At least three records belong to another era or have a state that does not open, and they outnumber the other
///   records.
enum HeaderTestimony {
    private static let sample = 16
    /// How many records that no key of the header opens show that the header is a wrong one. Fewer count as damaged
    /// records.
    private static let leastStrangers = 3
    /// The limit of names from which the sample is drawn: a vault may have very many.
    private static let mostNames = 2048

    /// Checks a sample of the vault's records.
    ///
    /// - Throws: ``Status/corrupt`` if the records refute the header.
    static func check(_ vault: OpenVault) throws(TokenKeepError) {
        var (own, strangers) = (0, 0)
        for name in try RecordNames.first(mostNames, in: vault.records).shuffled().prefix(sample) {
            guard
                let bytes = try? VaultFiles.readVersioned(
                    Hexadecimal.text(name), in: vault.records, atMost: RecordPrefix.maximumFile),
                RecordPrefix.begins(bytes)
            else { continue }
            guard let file = try? RecordFile(bytes, name: name, keys: vault.keys), (try? file.openState()) != nil else {
                strangers += 1
                continue
            }
            own += 1
            guard fits(file, vault.keys) else { throw refusal(because: Hexadecimal.text(name)) }
        }
        guard strangers < leastStrangers || strangers <= own else { throw HeaderTrust.refusal }
    }

    private static func refusal(because record: String) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "\(HeaderTrust.refusal.message): records/\(record) is sealed under a key that it does not know",
            module: "vault",
            hint:
                "nothing was changed; put the vault's own header and keyfile back; if they are right, the record is not: "
                + "move it away")
    }

    /// Whether the header's keys fit a record whose state is authentic.
    private static func fits(_ file: RecordFile, _ keys: KeyRing) -> Bool {
        guard let level = file.prefix.level else { return true }
        guard keys.header.names(file.prefix.classKeyID, .level(level)) else { return false }
        do throws(FormatFault) {
            // If the box is authentic but its fields break a rule, only this record is damaged.
            _ = try file.openMetadataBox()
            return true
        } catch {
            switch error {
            case .malformed, .unknownKey, .newerVersion, .refusedHeader: return false
            case .lockedKey, .presenceNeeded, .resources: return true
            }
        }
    }
}
