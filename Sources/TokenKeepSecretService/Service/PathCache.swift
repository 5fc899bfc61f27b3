import TokenKeepCore

/// The last known paths and properties of items, for the life of one service. Every use verifies them.
final class PathCache: Sendable {
    struct Entry {
        let path: ObjectPath
        /// The item as last read at the path; nil if only the path is known.
        var item: StoredItem?
        /// The item's version when it was read.
        var version: UInt64 = 0
        /// The time until which properties count as fresh without a signal.
        var freshUntil = Deadline(milliseconds: 0)
        /// The value of ``BusWatch/itemChanges`` before the item was read.
        var changes: UInt64?
        /// The time until which a write needs no check that the item still exists.
        let heardUntil = Deadline(milliseconds: Entry.heardMilliseconds)

        private static let heardMilliseconds: UInt32 = 100
    }

    private static let limit = 1024
    private let entries = MutexGuarded<[ItemName: Entry]>([:])

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
