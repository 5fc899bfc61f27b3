import CSystemShims
import Glibc
import Synchronization
import TokenKeepCore

/// The only thread on which a module's functions run, one after another.
///
/// A caller waits until its deadline. A function that still runs at the deadline is abandoned. Until the abandoned
/// function returns, all other calls fail at once, except while the function has run for less than ``hasty``. A
/// function that has not begun by the deadline never runs. On the thread, all signals are blocked except the signals of
/// faults.
final class PluginWorker: Sendable {
    /// The time in milliseconds within which a missing answer proves nothing: on a busy machine the module may be
    /// healthy.
    static let hasty: UInt32 = 500

    private let shared: Shared

    /// - Parameters:
    ///   - rest: the time after a missed deadline during which all calls fail at once, in milliseconds; 0 for none.
    ///   - idle: the time without calls after which `whenIdle` runs on the thread, in milliseconds; 0 for never.
    init(restMilliseconds rest: UInt32, idleMilliseconds idle: UInt32, whenIdle: @escaping @Sendable () -> Void) {
        shared = Shared(rest: rest, idle: idle, whenIdle)
    }

    /// False while the module is known not to answer.
    var mayAnswer: Bool { shared.isUsable && !shared.isLeftAlone }

    /// Runs `body` on the module's thread and waits for its result.
    ///
    /// - Throws: ``Status/timedOut`` if `body` has not finished by the deadline; ``Status/unavailable`` while an
    ///   earlier call is unanswered, and in a child of fork(); the errors of `body`.
    func run<Result: Sendable>(
        _ call: PluginCall, _ body: @escaping @Sendable () throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let outcome = MutexGuarded<Swift.Result<Result, TokenKeepError>?>(nil)
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
            try call.deadline.checkCancellation()  // a cancelled call says nothing of the module
            if job.isSilent { shared.leaveAlone() }
        }
        return try result.get()
    }

    /// Queues a job and waits for it. A cancellation ends the wait.
    private func perform(_ job: Job) throws(TokenKeepError) {
        guard let cancellation = job.call.deadline.cancellation else { return try shared.perform(job) }
        let outcome = cancellation.waking(by: { [shared] in shared.wake() }) {
            () -> Swift.Result<Void, TokenKeepError> in
            do throws(TokenKeepError) { return .success(try shared.perform(job)) } catch { return .failure(error) }
        }
        try outcome.get()
    }

    /// Runs `body` after all queued jobs, and then ends the thread. If the thread was ever started, waits for its end,
    /// at most until `patience`.
    func end(patience: Deadline, _ body: @escaping @Sendable () -> Void) { shared.end(patience, body) }

    private final class Job: @unchecked Sendable {
        enum State { case queued, running, abandoned, done }
        let call: PluginCall
        let body: @Sendable () -> Void
        var state = State.queued  // guarded by the mutex
        /// The time until which a missing answer proves nothing about the module; nil before the job has begun.
        private var patience: Deadline?

        /// Whether the module has been working on the job for longer than ``hasty``.
        var isSilent: Bool { patience?.hasPassed ?? false }

        init(call: PluginCall, _ body: @escaping @Sendable () -> Void) {
            self.call = call
            self.body = body
        }

        func begin() {
            state = .running
            patience = Deadline(milliseconds: PluginWorker.hasty)
        }
    }

    /// The state that the owner and the thread share. Exists until the thread ends.
    private final class Shared: @unchecked Sendable {
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private let jobArrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private let jobDone = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
        private let owner = Atomic<Int32>(0)
        private let rest: UInt32
        private let idle: UInt32
        private let whenIdle: @Sendable () -> Void
        private var jobs: [Job] = []
        /// The job on which the module is working; nil if there is none.
        private var running: Job?
        /// The job that the module did not finish in time; nil if there is none. A cancelled job is not stored here.
        private var abandoned: Job?
        private var leftAloneUntil: Deadline?
        private var hasEnded = false

        init(rest: UInt32, idle: UInt32, _ whenIdle: @escaping @Sendable () -> Void) {
            self.rest = rest
            self.idle = idle
            self.whenIdle = whenIdle
            pthread_mutex_init(mutex, nil)
            pthread_cond_init(jobArrived, nil)
            pthread_cond_init(jobDone, nil)
        }

        deinit {
            pthread_cond_destroy(jobDone)
            pthread_cond_destroy(jobArrived)
            pthread_mutex_destroy(mutex)
            jobDone.deallocate()
            jobArrived.deallocate()
            mutex.deallocate()
        }

        /// False in a child of fork(), because the thread exists only in the parent and the mutex may stay locked.
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

        /// Abandons a running job, or removes a queued job. The caller must hold the mutex.
        private func giveUp(_ job: Job) -> TokenKeepError {
            job.call.end()
            let hasBegun = job.state == .running
            if hasBegun { job.state = .abandoned } else { jobs.removeAll { $0 === job } }
            let deadline = job.call.deadline
            if !deadline.isCancelled, let running, running.state == .abandoned, running.isSilent {
                abandoned = running
                if rest > 0 { leftAloneUntil = Deadline(milliseconds: rest) }
            }
            var error = deadline.isCancelled ? deadline.failure("") : TokenKeepError.late
            error.changedNothing = !hasBegun
            return error
        }

        /// Wakes the waiting callers, which then check whether their calls were cancelled.
        func wake() {
            pthread_mutex_lock(mutex)
            pthread_cond_broadcast(jobDone)
            pthread_mutex_unlock(mutex)
        }

        /// Waits for a job. Returns whether the job is done. The caller must hold the mutex.
        private func wait(for job: Job, until deadline: Deadline) -> Bool {
            while job.state != .done {
                let left = deadline.remainingMilliseconds
                guard left > 0 else { return false }
                _ = tokenkeep_condition_wait(jobDone, mutex, tokenkeep_deadline_after(left))
            }
            return true
        }

        /// Starts the thread if it has not been started. The caller must hold the mutex.
        private func startThread() throws(TokenKeepError) {
            guard owner.load(ordering: .acquiring) == 0 else { return }
            var (all, before) = (sigset_t(), sigset_t())
            sigfillset(&all)
            // Leave the signals of faults unblocked. A fault whose signal is blocked ends the process at once, without
            // a call of the host program's handler.
            for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS] { sigdelset(&all, fault) }
            pthread_sigmask(SIG_SETMASK, &all, &before)
            defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
            let error = DetachedThread.start { self.work() }
            guard error == 0 else {
                throw TokenKeepError.shortage("no thread for the module can be started: \(ModuleFile.words(error))")
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
                job.begin()
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

        /// Waits for a job. The caller must hold the mutex.
        ///
        /// The first wait after a job has a time limit. If no job arrives within the limit, `whenIdle` runs.
        private func awaitJob(_ isIdle: inout Bool) {
            guard !isIdle, idle > 0 else { return _ = pthread_cond_wait(jobArrived, mutex) }
            let end = tokenkeep_deadline_after(idle)
            var isOver = false
            // A wait may end although no job has arrived. The loop then waits for the rest of the time limit.
            while jobs.isEmpty, !hasEnded, !isOver {
                isOver = tokenkeep_condition_wait(jobArrived, mutex, end) == ETIMEDOUT
            }
            guard isOver, jobs.isEmpty else { return }
            isIdle = true
            pthread_mutex_unlock(mutex)
            whenIdle()
            pthread_mutex_lock(mutex)
        }

        func end(_ patience: Deadline, _ body: @escaping @Sendable () -> Void) {
            guard owner.load(ordering: .acquiring) == getpid() else { return }
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            let job = Job(call: PluginCall(CallContext(deadline: patience)), body)
            hasEnded = true
            jobs.append(job)
            pthread_cond_signal(jobArrived)
            if abandoned == nil { _ = wait(for: job, until: patience) }
        }
    }
}
