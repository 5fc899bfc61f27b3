import CSystemShims
import Glibc
import TokenKeepCore

/// A pool of threads for blocking work. It starts threads on demand and ends idle threads after 10 seconds.
///
/// Swift's cooperative pool has one thread for each core. A call that waits for a disk or another process must not
/// block such a thread.
final class WorkerThreads: Sendable {
    typealias Job = @Sendable () -> Void

    private let shared: Shared

    /// Makes a pool without threads.
    ///
    /// - Parameter limit: the maximum number of threads at the same time.
    init(limit: Int) { shared = Shared(limit: limit) }

    /// Queues a job for a thread of the pool. Returns false if the pool has no thread and cannot start a thread.
    func run(_ job: @escaping Job) -> Bool { shared.enqueue(job) }

    /// The number of threads that have not ended.
    var threadCount: Int { shared.counts.threads }

    /// The number of threads that are waiting for a job.
    var idleCount: Int { shared.counts.idle }

    /// The state that the pool and its threads share. It exists until the last thread ends.
    private final class Shared: @unchecked Sendable {
        private static let idleMilliseconds: UInt32 = 10_000
        private let limit: Int
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let workArrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private var jobs: [Job] = []
        private var threads = 0
        private var idle = 0

        init(limit: Int) {
            self.limit = limit
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(workArrived, nil)
        }

        deinit {
            pthread_cond_destroy(workArrived)
            pthread_mutex_destroy(mutex)
            workArrived.deallocate()
            mutex.deallocate()
        }

        var counts: (threads: Int, idle: Int) {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return (threads, idle)
        }

        func enqueue(_ job: @escaping Job) -> Bool {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            if idle < jobs.count + 1, threads < limit {
                if DetachedThread.start({ self.work() }) == 0 { threads += 1 } else if threads == 0 { return false }
            }
            jobs.append(job)
            pthread_cond_signal(workArrived)
            return true
        }

        private func work() {
            while let job = next() { job() }
        }

        /// Waits for a job; nil if no job arrived within `idleMilliseconds`.
        ///
        /// After nil the thread must end, because it is no longer counted in `threads`.
        private func next() -> Job? {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            let deadline = tokenkeep_deadline_after(Shared.idleMilliseconds)
            idle += 1
            defer { idle -= 1 }
            while jobs.isEmpty {
                if tokenkeep_condition_wait(workArrived, mutex, deadline) == ETIMEDOUT, jobs.isEmpty {
                    threads -= 1
                    return nil
                }
            }
            return jobs.removeFirst()
        }
    }
}
