import Glibc
import Synchronization
import TokenKeepCore

/// Keeps a child of `fork()` from a library whose threads stayed behind in its parent.
enum ForkGuard {
    private static let user = Atomic<Int32>(0)

    /// Whether this process may use the bus.
    static var allows: Bool {
        let user = user.load(ordering: .acquiring)
        return user == 0 || user == getpid()
    }

    /// - Throws: ``Status/unavailable`` in a child of a process that was noted before.
    static func check() throws(TokenKeepError) {
        guard allows else {
            throw TokenKeepError(
                .unavailable, "the Secret Service was used before fork; exec first",
                hint: "open and use the store in the child alone, or call exec after fork")
        }
    }

    /// Notes this process as the user, before it connects.
    static func enter() throws(TokenKeepError) {
        _ = user.compareExchange(expected: 0, desired: getpid(), ordering: .acquiringAndReleasing)
        try check()
    }
}
