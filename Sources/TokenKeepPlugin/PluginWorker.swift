import Glibc
import Synchronization
import TokenKeepCore

/// The one thread on which a module's functions run, one after the other.
///
/// A caller waits until its deadline. What is still running then is left alone, and as long as it is, every other call
/// fails at once. What has not begun by then never does. Signals but those of faults are blocked on the thread.
final class PluginWorker: Sendable {
    private let shared: Shared

    /// - Parameters:
    ///   - rest: for how many milliseconds nothing is asked after a deadline passed without an answer.
    ///   - idle: after how many milliseconds without a call `whenIdle` is run on the thread; 0: never.
    init(restMilliseconds rest: UInt32, idleMilliseconds idle: UInt32, whenIdle: @escaping @Sendable () -> Void) {
        shared = Shared(rest: rest, idle: idle, whenIdle)
    }

    /// False while the module is known not to answer.
    var mayAnswer: Bool { shared.isUsable && !shared.isLeftAlone }

    /// Runs `body` on the thread.
    ///
    /// - Throws: ``Status/timedOut`` where it is not done by the deadline, ``Status/unavailable`` while an earlier call
    ///   is not answered and in a child of fork, and what `body` throws.
    func run<Result: Sendable>(
        _ call: PluginCall, _ body: @escaping @Sendable () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let outcome = Guarded<Swift.Result<Result, TokenKeepError>?>(nil)
        let job = Job(call: call) {
            let result: Swift.Result<Result, TokenKeepError>
            do throws(TokenKeepError) { result = .success(try body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
        }
        try perform(job)
        guard let result = outcome.withLock({ $0 }) else {
            throw TokenKeepError(.internal, "the module's thread lost an answer")
        }
        if case .failure(let error) = result, error.status == .timedOut {
            try call.deadline.checkCancellation()  // it ended early, which says nothing of the module
            shared.leaveAlone()
        }
        return try result.get()
    }

    /// Has it done; who cancels the call wakes this thread.
    private func perform(_ job: Job) throws(TokenKeepError) {
        guard let cancellation = job.call.deadline.cancellation else { return try shared.perform(job) }
        let outcome = cancellation.waking(by: { [shared] in shared.wake() }) {
            () -> Swift.Result<Void, TokenKeepError> in
            do throws(TokenKeepError) { return .success(try shared.perform(job)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    /// Runs `body` last of all and ends the thread; waits for it as long as `patience` lets, where anything was run.
    func end(patience: Deadline, _ body: @escaping @Sendable () -> Void) { shared.end(patience, body) }

    private final class Job: @unchecked Sendable {
        enum State { case queued, running, abandoned, done }
        let call: PluginCall
        let body: @Sendable () -> Void
        var state = State.queued  // under the mutex

        init(call: PluginCall, _ body: @escaping @Sendable () -> Void) {
            self.call = call
            self.body = body
        }
    }

    /// What the owner and the thread share: it lives until the thread ends.
    private final class Shared: @unchecked Sendable {
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let jobArrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private let jobDone = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private let owner = Atomic<Int32>(0)
        private let rest: UInt32
        private let idle: UInt32
        private let whenIdle: @Sendable () -> Void
        private var jobs: [Job] = []
        /// What the module is at.
        private var running: Job?
        /// What it did not end in time. A call that was cancelled says nothing of the module.
        private var abandoned: Job?
        private var leftAloneUntil: Deadline?
        private var hasEnded = false

        init(rest: UInt32, idle: UInt32, _ whenIdle: @escaping @Sendable () -> Void) {
            self.rest = rest
            self.idle = idle
            self.whenIdle = whenIdle
            pthread_mutex_init(mutex, nil)
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(jobArrived, &attributes)
            pthread_cond_init(jobDone, &attributes)
            pthread_condattr_destroy(&attributes)
        }

        deinit {
            pthread_cond_destroy(jobDone)
            pthread_cond_destroy(jobArrived)
            pthread_mutex_destroy(mutex)
            jobDone.deallocate()
            jobArrived.deallocate()
            mutex.deallocate()
        }

        /// The thread of the parent is not there in a child of fork, and the mutex may be held for ever.
        var isUsable: Bool {
            let owner = owner.load(ordering: .acquiring)
            return owner == 0 || owner == getpid()
        }

        var isLeftAlone: Bool {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return leftAlone()
        }

        private func leftAlone() -> Bool {
            if abandoned != nil { return true }
            if let until = leftAloneUntil, until.hasPassed { leftAloneUntil = nil }
            return leftAloneUntil != nil
        }

        func leaveAlone() {
            guard rest > 0 else { return }
            pthread_mutex_lock(mutex)
            leftAloneUntil = Deadline(milliseconds: rest)
            pthread_mutex_unlock(mutex)
        }

        func perform(_ job: Job) throws(TokenKeepError) {
            guard isUsable else {
                throw TokenKeepError(
                    .unavailable, "the module was used before fork", hint: "open another store in the child")
            }
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            guard !leftAlone() else {
                throw TokenKeepError(
                    .unavailable, "the module did not answer an earlier call and has not come back")
            }
            try startThread()
            jobs.append(job)
            pthread_cond_signal(jobArrived)
            guard !wait(for: job, until: job.call.deadline) else { return }
            throw giveUp(job)
        }

        /// Leaves it alone, or takes it back; the mutex is held.
        private func giveUp(_ job: Job) -> TokenKeepError {
            job.call.end()
            let hasBegun = job.state == .running
            if hasBegun { job.state = .abandoned } else { jobs.removeAll { $0 === job } }
            let deadline = job.call.deadline
            if !deadline.isCancelled, let running, running.state == .abandoned {
                abandoned = running
                if rest > 0 { leftAloneUntil = Deadline(milliseconds: rest) }
            }
            var error = deadline.isCancelled ? deadline.failure("") : TokenKeepError.late
            error.changedNothing = !hasBegun
            return error
        }

        /// Has those who wait look at their deadlines.
        func wake() {
            pthread_mutex_lock(mutex)
            pthread_cond_broadcast(jobDone)
            pthread_mutex_unlock(mutex)
        }

        /// Whether it is done; the mutex is held.
        private func wait(for job: Job, until deadline: Deadline) -> Bool {
            while job.state != .done {
                let left = deadline.remainingMilliseconds
                guard left > 0 else { return false }
                var moment = Shared.moment(in: left)
                pthread_cond_timedwait(jobDone, mutex, &moment)
            }
            return true
        }

        private static func moment(in milliseconds: UInt32) -> timespec {
            var moment = timespec()
            clock_gettime(CLOCK_MONOTONIC, &moment)
            let nanoseconds = moment.tv_nsec + Int(milliseconds % 1000) * 1_000_000
            moment.tv_sec += Int(milliseconds / 1000) + nanoseconds / 1_000_000_000
            moment.tv_nsec = nanoseconds % 1_000_000_000
            return moment
        }

        /// Starts the thread where there is none; the mutex is held.
        private func startThread() throws(TokenKeepError) {
            guard owner.load(ordering: .acquiring) == 0 else { return }
            var (all, before) = (sigset_t(), sigset_t())
            sigfillset(&all)
            // Those of faults come whether they are blocked or not: the program's own handlers see them.
            for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&all, fault) }
            pthread_sigmask(SIG_SETMASK, &all, &before)
            defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
            let error = DetachedThread.start { self.work() }
            guard error == 0 else {
                throw TokenKeepError(.io, "no thread for the module can be started: \(ModuleFile.words(error))")
            }
            owner.store(getpid(), ordering: .releasing)
        }

        private func work() {
            var isIdle = true
            pthread_mutex_lock(mutex)
            while true {
                while jobs.isEmpty {
                    if hasEnded { return _ = pthread_mutex_unlock(mutex) }
                    awaitJob(&isIdle)
                }
                isIdle = false
                let job = jobs.removeFirst()
                job.state = .running
                running = job
                pthread_mutex_unlock(mutex)
                job.body()
                pthread_mutex_lock(mutex)
                job.state = .done
                running = nil
                if abandoned === job { abandoned = nil }
                pthread_cond_broadcast(jobDone)
            }
        }

        /// Waits for a job, for the first time after the last one only so long; the mutex is held.
        private func awaitJob(_ isIdle: inout Bool) {
            guard !isIdle, idle > 0 else { return _ = pthread_cond_wait(jobArrived, mutex) }
            var moment = Shared.moment(in: idle)
            guard pthread_cond_timedwait(jobArrived, mutex, &moment) == ETIMEDOUT, jobs.isEmpty else { return }
            isIdle = true
            pthread_mutex_unlock(mutex)
            whenIdle()
            pthread_mutex_lock(mutex)
        }

        func end(_ patience: Deadline, _ body: @escaping @Sendable () -> Void) {
            guard owner.load(ordering: .acquiring) == getpid() else { return }
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            let job = Job(call: PluginCall(CallContext(deadline: patience), arena: nil), body)
            hasEnded = true
            jobs.append(job)
            pthread_cond_signal(jobArrived)
            if abandoned == nil { _ = wait(for: job, until: patience) }
        }
    }
}
