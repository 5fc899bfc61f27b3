import CSystemShims
import Glibc

/// Runs work on a new thread and waits for its result up to a time limit. Work that exceeds the limit continues.
package final class LimitedWork<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let finished = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value?  // guarded by the mutex

    private init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(finished, nil)
    }

    deinit {
        pthread_cond_destroy(finished)
        pthread_mutex_destroy(mutex)
        finished.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` on another thread and returns its value; nil if `body` did not finish within the time limit.
    ///
    /// If no thread can be started, `body` runs on the calling thread, without a time limit.
    package static func run(milliseconds: UInt32, _ body: @escaping @Sendable () -> Value) -> Value? {
        let work = LimitedWork()
        guard DetachedThread.start({ work.finish(body()) }) == 0 else { return body() }
        return work.wait(milliseconds)
    }

    /// Calls `start`, whose work must pass its value to `finish`, and returns this value; nil if no value arrived in
    /// time.
    package static func value(
        withinMilliseconds milliseconds: UInt32, from start: (_ finish: @escaping @Sendable (Value) -> Void) -> Void
    ) -> Value? {
        let work = LimitedWork()
        start { work.finish($0) }
        return work.wait(milliseconds)
    }

    private func finish(_ value: Value) {
        pthread_mutex_lock(mutex)
        self.value = value
        pthread_cond_broadcast(finished)
        pthread_mutex_unlock(mutex)
    }

    private func wait(_ milliseconds: UInt32) -> Value? {
        let deadline = tokenkeep_deadline_after(milliseconds)
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while value == nil, tokenkeep_condition_wait(finished, mutex, deadline) == 0 {}
        return value
    }
}
