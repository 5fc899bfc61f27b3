import Synchronization
import TokenKeepCore

/// Where items were found, for as long as one service runs: a hint that is verified whenever it is used.
final class PathCache: Sendable {
    private static let limit = 1024
    private let paths = Mutex<[ItemName: ObjectPath]>([:])

    subscript(name: ItemName) -> ObjectPath? {
        get { paths.withLock { $0[name] } }
        set {
            paths.withLock { paths in
                if paths.count >= PathCache.limit { paths.removeAll() }
                paths[name] = newValue
            }
        }
    }
}
