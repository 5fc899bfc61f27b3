import Glibc

/// Runs work on a new thread and waits a limited time for its result. Work that takes longer continues.
package final class LimitedWork<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let finished = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value?  // guarded by the mutex

    private init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(finished, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(finished)
        pthread_mutex_destroy(mutex)
        finished.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` on another thread and returns its value; nil if `body` did not end in time.
    ///
    /// If no thread can be started, `body` runs on the calling thread, without a limit.
    package static func run(milliseconds: UInt32, _ body: @escaping @Sendable () -> Value) -> Value? {
        let work = LimitedWork()
        guard DetachedThread.start({ work.finish(body()) }) == 0 else { return body() }
        return work.wait(milliseconds)
    }

    private func finish(_ value: Value) {
        pthread_mutex_lock(mutex)
        self.value = value
        pthread_cond_broadcast(finished)
        pthread_mutex_unlock(mutex)
    }

    private func wait(_ milliseconds: UInt32) -> Value? {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let nanoseconds = end.tv_nsec + Int(milliseconds % 1000) * 1_000_000
        end.tv_sec += Int(milliseconds / 1000) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == nil, pthread_cond_timedwait(finished, mutex, &end) == 0 {}
        return value
    }
}
