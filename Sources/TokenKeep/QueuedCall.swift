import TokenKeepCore

/// A task's call that waits for a thread: who is cancelled until one takes it need not wait for that.
final class QueuedCall<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, TokenKeepError>
    typealias Continuation = CheckedContinuation<Outcome, Never>

    private enum State {
        case new
        case waiting(Continuation)
        /// A thread works at it, or it was ended.
        case taken
    }

    private let state = Guarded(State.new)

    /// Keeps what is to be resumed; false where the call was ended already.
    func wait(_ continuation: Continuation) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Whom the caller, a thread that begins now or whoever ends the call, is to resume; nil where another does.
    func take() -> Continuation? {
        state.withLock { state in
            defer { state = .taken }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
    }

    static var cancelled: Outcome { .failure(TokenKeepError(.cancelled, "the call was cancelled")) }
}
