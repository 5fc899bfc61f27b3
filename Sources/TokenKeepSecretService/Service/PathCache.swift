import TokenKeepCore

/// Where items were found and what was read there, for as long as one service runs: hints that are verified whenever
/// they are used.
final class PathCache: Sendable {
    struct Entry {
        let path: ObjectPath
        /// The item as it was loaded from there; nil where only its path is known.
        var item: StoredItem?
        /// Its version then.
        var version: UInt64 = 0
        /// Until when the label and the dates count as fresh while secret and attributes are the same.
        var freshUntil = Deadline(milliseconds: 0)
    }

    private static let limit = 1024
    private let entries = Guarded<[ItemName: Entry]>([:])

    subscript(name: ItemName) -> Entry? {
        get { entries.withLock { $0[name] } }
        set {
            entries.withLock { entries in
                if entries.count >= PathCache.limit { entries.removeAll() }
                entries[name] = newValue
            }
        }
    }
}
