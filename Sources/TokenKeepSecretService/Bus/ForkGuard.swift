import Glibc
import Synchronization
import TokenKeepCore

/// Prevents a child made by `fork()` from using GLib, because GLib's threads exist only in the parent.
enum ForkGuard {
    private static let user = Atomic<Int32>(0)

    /// Whether this process may use the bus.
    static var allows: Bool {
        let user = user.load(ordering: .acquiring)
        return user == 0 || user == getpid()
    }

    /// Throws ``Status/unavailable`` in a child of the process that first used the bus.
    static func check() throws(TokenKeepError) {
        guard allows else {
            throw TokenKeepError(
                .unavailable, "the Secret Service was used before fork; exec first",
                hint: "open and use the store in the child alone, or call exec after fork")
        }
    }

    /// Records that this process uses the bus. Must be called before the process connects.
    static func enter() throws(TokenKeepError) {
        _ = user.compareExchange(expected: 0, desired: getpid(), ordering: .acquiringAndReleasing)
        try check()
    }
}
