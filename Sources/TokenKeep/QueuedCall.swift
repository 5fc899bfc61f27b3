import TokenKeepCore

/// A task's call that has not been started by a thread yet.
///
/// If the task is cancelled before a thread starts the call, the task resumes at once.
final class QueuedCall<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CoreError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    private enum State {
        case new
        case waiting(Continuation)
        /// A thread has taken the call, or the call ended before a thread took it.
        case taken
    }

    private let state = MutexGuarded(State.new)

    /// Stores the continuation until `take()`; false if the call has already ended.
    func wait(_ continuation: Continuation) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Marks the call as taken and returns its continuation, which the caller must resume; nil if there is none.
    ///
    /// A thread takes the call before it begins the work. A cancellation takes the call to end it without a thread.
    func take() -> Continuation? {
        state.withLock { state in
            defer { state = .taken }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }

    /// Locks and unlocks the mutex, so that the task sees what the call's thread wrote. Both of them call this
    /// function.
    func synchronize() { state.withLock { _ in } }

    static var cancelled: Outcome { .failure(CoreError(.cancelled, "the call was cancelled")) }
}
