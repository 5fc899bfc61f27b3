import Glibc

/// A value behind a POSIX mutex: only one thread at a time has access.
///
/// Replaces the Mutex of the Synchronization module. Under contention the kernel hands that mutex over, which
/// ThreadSanitizer does not see and reports as a race.
package final class MutexGuarded<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)

    package init(_ value: Value) {
        self.value.initialize(to: value)
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// Runs `body` under the lock. `body` must not lock the same value again.
    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Locks until ``unlock(after:)``. Only for the handlers of fork(): other code calls ``withLock(_:)``.
    package func lock() { pthread_mutex_lock(mutex) }

    /// Runs `body` and unlocks.
    package func unlock(after body: (inout Value) -> Void = { _ in }) {
        body(&value.pointee)
        pthread_mutex_unlock(mutex)
    }
}
