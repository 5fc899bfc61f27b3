import TokenKeepCore
import TokenKeepKeys

/// Holds the header against the records (docs/format.md, "Records testify").
///
/// All records of an era are sealed under keys that its header names. A record whose state is authentic and which names
/// another class key proves that the header is not the one under which it was written: somebody who has the keyfile made
/// another, or put an older one back.
enum Testimony {
    private static let sample = 16

    /// - Throws: ``Status/corrupt`` if a record testifies against the header.
    static func check(_ vault: OpenVault) throws(TokenKeepError) {
        for name in try RecordNames.all(in: vault.records).shuffled().prefix(sample) {
            guard let bytes = try? VaultFiles.readVersioned(
                Hexadecimal.text(name), in: vault.records, atMost: RecordPrefix.maximumFile)
            else { continue }
            guard let file = try? RecordFile(bytes, name: name, keys: vault.keys), let level = file.prefix.level,
                (try? file.openState()) != nil
            else { continue }
            guard vault.keys.header.names(file.prefix.classKeyID, .level(level)) else { throw HeaderTrust.refusal }
        }
    }
}
