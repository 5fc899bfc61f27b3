import TokenKeepCore

/// A task's call that waits for a thread.
///
/// If the task is cancelled before a thread takes the call, the task resumes at once.
final class QueuedCall<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CoreError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    private enum State {
        case new
        case waiting(Continuation)
        /// A thread has taken the call, or the call ended without a thread.
        case taken
    }

    private let state = MutexGuarded(State.new)

    /// Keeps the continuation until `take()`; false if the call has already ended.
    func wait(_ continuation: Continuation) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Takes the call and returns its continuation, which the caller must resume; nil if no continuation waits.
    ///
    /// A thread takes the call before it begins the work. A cancellation takes the call to end it.
    func take() -> Continuation? {
        state.withLock { state in
            defer { state = .taken }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }

    /// Orders memory between the thread that ran the call and the task. Both call it.
    func synchronize() { state.withLock { _ in } }

    static var cancelled: Outcome { .failure(CoreError(.cancelled, "the call was cancelled")) }
}
