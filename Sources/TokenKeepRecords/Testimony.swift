import TokenKeepCore
import TokenKeepKeys

/// Holds the header against the records (docs/format.md, "Records testify").
///
/// All records of an era are sealed under keys that its header names. A record whose state is authentic, and which names
/// another class key or whose metadata the header's key does not open, proves that the header is not the one under which it
/// was written: somebody who has the keyfile made another, or put an older one back. So do several records whose states do
/// not open at all.
enum Testimony {
    private static let sample = 16

    /// - Throws: ``Status/corrupt`` if a record testifies against the header.
    static func check(_ vault: OpenVault) throws(TokenKeepError) {
        var (opened, closed) = (0, 0)
        for name in try RecordNames.all(in: vault.records).shuffled().prefix(sample) {
            guard let bytes = try? VaultFiles.readVersioned(
                Hexadecimal.text(name), in: vault.records, atMost: RecordPrefix.maximumFile),
                let file = try? RecordFile(bytes, name: name, keys: vault.keys)
            else { continue }
            guard (try? file.openState()) != nil else {
                closed += 1
                continue
            }
            opened += 1
            guard fits(file, vault.keys) else { throw refusal(because: Hexadecimal.text(name)) }
        }
        guard opened > 0 || closed < 2 else { throw HeaderTrust.refusal }
    }

    private static func refusal(because record: String) -> TokenKeepError {
        TokenKeepError(
            .corrupt, "\(HeaderTrust.refusal.message): records/\(record) is sealed under a key that it does not know",
            module: "vault",
            hint:
                "nothing was changed; put the vault's own header and keyfile back; if they are right, the record is not: "
                + "move it away")
    }

    /// Whether the header's keys are those of a record whose state is authentic.
    private static func fits(_ file: RecordFile, _ keys: KeyRing) -> Bool {
        guard let level = file.prefix.level else { return true }
        guard keys.header.names(file.prefix.classKeyID, .level(level)) else { return false }
        do throws(FormatFault) {
            _ = try file.openMetadata()
            return true
        } catch {
            switch error {
            case .malformed, .unknownKey, .newerVersion, .refusedHeader: return false
            case .lockedKey, .presenceNeeded, .resources: return true
            }
        }
    }
}
