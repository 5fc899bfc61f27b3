import CSystemShims
import Glibc
import TokenKeepCore

/// Threads for work that would block the bus thread, such as calls of the vault and key derivations.
///
/// Tasks with the same key run one after another, in the order in which they were submitted.
final class Workers: @unchecked Sendable {
    private struct Task {
        let key: String?
        let client: String
        let run: @Sendable () -> Void
    }

    private static let limit = 6
    /// The maximum number of idle threads that are kept. Further idle threads end, because their stacks take memory.
    private static let kept = 2
    /// The maximum number of threads for one client's tasks, so that other clients are served even if the disk is slow.
    private static let clientLimit = 3
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    // The mutex guards the following properties.
    private var tasks = FairQueue<Task>()
    private var busyKeys: Set<String> = []
    private var busyThreads: [String: Int] = [:]
    private var threads = 0
    private var idle = 0
    /// The number of idle threads that were called and have not woken up yet.
    private var called = 0

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    /// Submits a task. If no thread can be started, the task runs on the calling thread.
    ///
    /// - Parameter client: the client for which the task works; "" for the program itself.
    func submit(on key: String?, for client: String, _ run: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        tasks.append(Task(key: key, client: client, run: run), of: client)
        let needsThread = callThread()
        pthread_mutex_unlock(mutex)
        if needsThread { startThread() }
    }

    /// Calls an idle thread if a task may run.
    ///
    /// - Returns: whether the caller must start a new thread for the task. The new thread is already counted.
    private func callThread() -> Bool {
        guard tasks.hasElement(of: isServed, where: isFree) else { return false }
        if idle > called {
            called += 1
            pthread_cond_signal(changed)
            return false
        }
        guard threads < Workers.limit else { return false }
        threads += 1
        return true
    }

    private func startThread() {
        guard DetachedThread.start({ self.work() }) != 0 else { return }
        pthread_mutex_lock(mutex)
        threads -= 1
        let orphan = threads == 0 ? tasks.popFirst() : nil
        pthread_mutex_unlock(mutex)
        orphan?.run()
    }

    private func work() {
        pthread_mutex_lock(mutex)
        while true {
            guard let task = take() else {
                guard waitForCall() else { return }
                continue
            }
            // The task that ended may have blocked two tasks, one by its key and one by its client's limit. This thread
            // takes one of them, so another thread is called for the other.
            let needsThread = callThread()
            pthread_mutex_unlock(mutex)
            if needsThread { startThread() }
            task.run()
            pthread_mutex_lock(mutex)
            release(task)
        }
    }

    /// Waits until this thread is called, and returns true. Returns false, with the mutex unlocked, if enough threads
    /// are idle, so that this thread must end.
    private func waitForCall() -> Bool {
        guard idle < Workers.kept else {
            threads -= 1
            pthread_mutex_unlock(mutex)
            return false
        }
        idle += 1
        while called == 0 { pthread_cond_wait(changed, mutex) }
        called -= 1
        idle -= 1
        return true
    }

    private func isServed(_ client: String) -> Bool {
        client.isEmpty || busyThreads[client, default: 0] < Workers.clientLimit
    }

    private func isFree(_ task: Task) -> Bool { task.key.map { !busyKeys.contains($0) } ?? true }

    /// Removes and returns the first task whose key is not in use, in the clients' turn; nil if there is none.
    private func take() -> Task? {
        guard let task = tasks.popFirst(of: isServed, where: isFree) else { return nil }
        if let key = task.key { busyKeys.insert(key) }
        busyThreads[task.client, default: 0] += 1
        return task
    }

    private func release(_ task: Task) {
        if let key = task.key { busyKeys.remove(key) }
        let left = busyThreads[task.client, default: 1] - 1
        busyThreads[task.client] = left > 0 ? left : nil
    }
}

/// The results of workers that the bus thread has not received yet.
final class Results: Sendable {
    /// An eventfd that is readable while there are results.
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
