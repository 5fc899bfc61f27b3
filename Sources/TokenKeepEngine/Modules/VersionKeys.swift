import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Provides the key that computes item versions, for modules other than the vault and memory.
///
/// Uses the vault's key, so that an item keeps its version when it moves between modules. If no vault can be read, uses
/// a random key of this store.
final class VersionKeys: Sendable {
    private let records: Records
    private let own = MutexGuarded<ItemVersionKey?>(nil)

    init(records: Records) {
        self.records = records
    }

    func current() throws(TokenKeepError) -> ItemVersionKey {
        if let key = records.versionKey() { return key }
        return try own.withLock { own throws(TokenKeepError) in
            if let own { return own }
            let key = try ItemVersionKey.random()
            own = key
            return key
        }
    }
}
