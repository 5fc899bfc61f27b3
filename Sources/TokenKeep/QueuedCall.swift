import TokenKeepCore

/// A call of a task that waits until a thread starts the call.
///
/// If the task is cancelled before a thread starts the call, the task resumes at once.
final class QueuedCall<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CoreError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    private enum State {
        case new
        case waiting(Continuation)
        /// A thread has started the call, or the call ended before a thread started it.
        case taken
    }

    private let state = MutexGuarded(State.new)

    /// Stores the continuation until `take()`. Returns false, without storing, if the call has already ended.
    func wait(_ continuation: Continuation) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Marks the call as taken, and returns its continuation; nil if the call has none, or was taken before. The caller
    /// must resume the continuation.
    ///
    /// A thread calls this before it begins the work. A cancellation calls this to end the call before a thread starts
    /// it.
    func take() -> Continuation? {
        state.withLock { state in
            defer { state = .taken }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }

    /// Locks and unlocks the mutex, so that the task sees the memory that the call's thread wrote. The thread and the
    /// task both call this function.
    func synchronize() { state.withLock { _ in } }

    static var cancelled: Outcome { .failure(CoreError(.cancelled, "the call was cancelled")) }
}
