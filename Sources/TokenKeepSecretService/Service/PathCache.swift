import TokenKeepCore

/// Where items were found and what was read there, for as long as one service runs: hints that are verified whenever
/// they are used.
final class PathCache: Sendable {
    struct Entry {
        let path: ObjectPath
        /// The item as it was read there; nil where only its path is known.
        var item: StoredItem?
        /// Its version then.
        var version: UInt64 = 0
        /// Until when what the service need not tell counts as fresh.
        var freshUntil = Deadline(milliseconds: 0)
        /// What ``BusWatch/itemChanges`` was before it was read.
        var changes: UInt64?
        /// Until when it need not be asked whether it is there still, before it is written to.
        let heardUntil = Deadline(milliseconds: Entry.heardMilliseconds)

        private static let heardMilliseconds: UInt32 = 100
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
