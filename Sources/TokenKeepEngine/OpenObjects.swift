import TokenKeepCore

/// The objects that depend on an open store, such as sessions. Holds only weak references to these objects.
package final class OpenObjects: Sendable {
    private struct Entry: @unchecked Sendable {
        weak var object: (any AnyObject & Sendable)?
    }

    private struct Entries {
        var all: [Entry] = []
        /// The number of entries at which the entries of released objects are removed. Each removal sets this number to
        /// twice the number of remaining entries, so that removals cost little for each added object.
        var most = OpenObjects.fewest
    }

    private static let fewest = 64

    private let entries = MutexGuarded(Entries())

    /// The number of entries, including entries of released objects.
    var count: Int { entries.withLock { $0.all.count } }

    package func add(_ object: any AnyObject & Sendable) {
        entries.withLock { entries in
            if entries.all.count >= entries.most {
                entries.all.removeAll { $0.object == nil }
                entries.most = max(OpenObjects.fewest, 2 * entries.all.count)
            }
            entries.all.append(Entry(object: object))
        }
    }

    /// The objects that still exist, in the order in which they were added.
    package var all: [any AnyObject & Sendable] { entries.withLock { $0.all.compactMap(\.object) } }
}
