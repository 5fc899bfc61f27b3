import Glibc
import Synchronization
import TokenKeepCore

/// Keeps a child made by `fork()` from using GLib, whose threads exist only in the parent.
enum ForkGuard {
    private static let user = Atomic<Int32>(0)

    /// Whether this process may use the bus.
    static var allows: Bool {
        let user = user.load(ordering: .acquiring)
        return user == 0 || user == getpid()
    }

    /// Throws in a child of the process that first used the bus.
    ///
    /// - Throws: ``Status/unavailable``.
    static func check() throws(TokenKeepError) {
        guard allows else {
            throw TokenKeepError(
                .unavailable, "the Secret Service was used before fork; exec first",
                hint: "open and use the store in the child alone, or call exec after fork")
        }
    }

    /// Notes that this process uses the bus. Must be called before the process connects.
    static func enter() throws(TokenKeepError) {
        _ = user.compareExchange(expected: 0, desired: getpid(), ordering: .acquiringAndReleasing)
        try check()
    }
}
