import CSystemShims
import Glibc
import TokenKeepCore

/// Threads that do the work which the bus thread must not wait for: calls of the vault, derivations.
///
/// Tasks with the same key run one after another, in the order in which they were submitted.
final class Workers: @unchecked Sendable {
    private struct Task {
        let key: String?
        let run: @Sendable () -> Void
    }

    private static let limit = 4
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // Guarded by the mutex:
    private var tasks: [Task] = []
    private var busyKeys: Set<String> = []
    private var threads = 0
    private var idle = 0

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    /// Submits a task. If no thread can be started, the task runs on the calling thread.
    func submit(on key: String?, _ run: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        tasks.append(Task(key: key, run: run))
        let needsThread = idle == 0 && threads < Workers.limit
        if needsThread { threads += 1 }
        pthread_cond_signal(changed)
        pthread_mutex_unlock(mutex)
        guard needsThread, DetachedThread.start({ self.work() }) != 0 else { return }
        pthread_mutex_lock(mutex)
        threads -= 1
        let orphan = threads == 0 ? tasks.popLast() : nil
        pthread_mutex_unlock(mutex)
        orphan?.run()
    }

    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            guard let task = take() else {
                idle += 1
                pthread_cond_wait(changed, mutex)
                idle -= 1
                continue
            }
            pthread_mutex_unlock(mutex)
            task.run()
            pthread_mutex_lock(mutex)
            if let key = task.key {
                busyKeys.remove(key)
                pthread_cond_signal(changed)
            }
        }
    }

    /// Takes the first task whose key is free; nil if there is none.
    private func take() -> Task? {
        guard let index = tasks.firstIndex(where: { task in task.key.map { !busyKeys.contains($0) } ?? true })
        else { return nil }
        let task = tasks.remove(at: index)
        if let key = task.key { busyKeys.insert(key) }
        return task
    }
}

/// The results of workers, on their way to the bus thread.
final class Results: Sendable {
    /// Readable (poll(2)) while there are results.
    let descriptor: Int32
    private let posted = MutexGuarded<[(ticket: UInt64, value: any Sendable)]>([])

    init(descriptor: Int32) { self.descriptor = descriptor }

    func post(_ ticket: UInt64, _ value: any Sendable) {
        posted.withLock { $0.append((ticket, value)) }
        var one: UInt64 = 1
        _ = write(descriptor, &one, 8)
    }

    func take() -> [(ticket: UInt64, value: any Sendable)] {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
        return posted.withLock { posted in
            let taken = posted
            posted = []
            return taken
        }
    }
}
