import Glibc

/// A value that a POSIX mutex protects, so that only one thread at a time can use it.
///
/// Replaces the Mutex of the Synchronization module, in which ThreadSanitizer reports false data races, because it does
/// not see that the kernel passes the lock from one thread to another.
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

    /// Calls `body` with the value while the mutex is locked. `body` must not lock the same mutex again.
    package func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure)
        -> Result
    {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Locks the mutex until ``unlock(after:)``.
    ///
    /// Only the handlers that run before and after fork() call this function. All other code calls ``withLock(_:)``.
    package func lock() { pthread_mutex_lock(mutex) }

    /// Calls `body` with the value, and unlocks the mutex that ``lock()`` has locked.
    package func unlock(after body: (inout Value) -> Void = { _ in }) {
        body(&value.pointee)
        pthread_mutex_unlock(mutex)
    }
}
