import TokenKeepCore

/// The objects that depend on an open store, such as sessions. Holds only weak references to these objects.
package final class OpenObjects: Sendable {
    private struct Entry: @unchecked Sendable {
        weak var object: (any AnyObject & Sendable)?
    }

    private let entries = MutexGuarded<[Entry]>([])

    package func add(_ object: any AnyObject & Sendable) {
        entries.withLock { entries in
            entries.removeAll { $0.object == nil }
            entries.append(Entry(object: object))
        }
    }

    /// The objects that still exist, in the order in which they were added.
    package var all: [any AnyObject & Sendable] { entries.withLock { $0.compactMap(\.object) } }
}
