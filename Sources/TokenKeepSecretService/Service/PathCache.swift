import TokenKeepCore

/// The last known paths and properties of items on one running service.
///
/// An entry is only a hint: each use checks the entry with the service.
final class PathCache: Sendable {
    struct Entry {
        let path: ObjectPath
        /// The item as last read at the path; nil if only the path is known.
        var item: StoredItem?
        /// The item's version when the item was read.
        var version: UInt64 = 0
        /// The time until which the cached properties are used.
        var freshUntil = Deadline(milliseconds: 0)
        /// The value of ``BusWatch/itemChanges`` before the item was read; nil if the service does not signal every
        /// change.
        var changes: UInt64?
        /// The time until which a save may rely on the entry without a check that the item still exists.
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
