import Foundation
import FoundationNetworking

/// A response with its body. The body has either arrived completely or is a stream of chunks.
struct HTTPExchange: Sendable {
    enum Body: Sendable {
        case whole(Data)
        case arriving(AsyncThrowingStream<Data, any Error>)
    }

    let response: HTTPURLResponse
    let content: Body
    let task: URLSessionTask
    /// Whether the request was sent with the session's token. If not, status 401 does not mean that the token was
    /// refused.
    var hadToken = false

    /// The chunks of the body. A whole body is one chunk.
    var chunks: AsyncThrowingStream<Data, any Error> {
        switch content {
        case .arriving(let chunks): return chunks
        case .whole(let body):
            let (chunks, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
            continuation.yield(body)
            continuation.finish()
            return chunks
        }
    }

    /// Reads the whole body.
    func body() async throws -> Data {
        if case .whole(let body) = content { return body }
        var body = Data()
        for try await chunk in chunks { body.append(chunk) }
        // A cancelled task's stream ends without an error, so the cancellation is checked here.
        try Task.checkCancellation()
        return body
    }

    /// Cancels the task, because the body is not needed.
    func discard() { task.cancel() }
}

/// A request that was sent and has no response yet.
///
/// If the reader of the body's chunks releases the stream, the task is cancelled.
final class PendingExchange: Sendable {
    private struct State {
        var body: HTTPExchange.Body
        var response: HTTPURLResponse?
        var waiting: CheckedContinuation<HTTPExchange, any Error>?
        /// The outcome, if it arrived before ``exchange()`` was called.
        var early: Result<HTTPExchange, any Error>?
        var isDelivered = false

        /// Appends a chunk to the body in place, without copying the body.
        mutating func append(_ data: Data) {
            guard case .whole(var whole) = body else { return }
            body = .whole(Data())
            whole.append(data)
            body = .whole(whole)
        }
    }

    private let state: Guarded<State>
    private let task: URLSessionTask
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation?

    /// Makes the pending exchange of a task.
    ///
    /// - Parameter isWhole: whether the response is delivered only after the whole body has arrived. The delivery then
    ///   costs one thread switch instead of one for each chunk.
    init(_ task: URLSessionTask, isWhole: Bool) {
        self.task = task
        guard !isWhole else {
            continuation = nil
            state = Guarded(State(body: .whole(Data())))
            return
        }
        let (chunks, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
        self.continuation = continuation
        state = Guarded(State(body: .arriving(chunks)))
        continuation.onTermination = { reason in
            // `cancel()` waits for Foundation's work queue, which may be the queue that releases the last reference, so
            // it is called on another queue.
            if case .cancelled = reason { DispatchQueue.global().async { task.cancel() } }
        }
    }

    /// Waits for the response's header fields, or for its whole body, and returns the exchange. Must be called once.
    func exchange() async throws -> HTTPExchange {
        try await withCheckedThrowingContinuation { waiting in
            let early = state.withLock { state in
                if state.early == nil { state.waiting = waiting }
                return state.early.take()
            }
            if let early { waiting.resume(with: early) }
        }
    }

    func didReceive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return deliver { _ in .failure(APIError.unknown) } }
        guard continuation == nil else {
            return deliver { [task] state in
                .success(HTTPExchange(response: response, content: state.body, task: task))
            }
        }
        state.withLock { $0.response = response }
    }

    func didReceive(_ data: Data) {
        if let continuation {
            continuation.yield(data)
        } else {
            state.withLock { $0.append(data) }
        }
    }

    func didEnd(_ error: (any Error)?) {
        deliver { [task] state in
            guard error == nil, let response = state.response else { return .failure(error ?? APIError.unknown) }
            return .success(HTTPExchange(response: response, content: state.body, task: task))
        }
        continuation?.finish(throwing: error)
    }

    /// Delivers the first outcome to the waiting ``exchange()``, or stores it until ``exchange()`` is called. Ignores
    /// later outcomes.
    private func deliver(_ outcome: (State) -> Result<HTTPExchange, any Error>) {
        let delivery = state.withLock {
            state -> (CheckedContinuation<HTTPExchange, any Error>, Result<HTTPExchange, any Error>)? in
            guard !state.isDelivered else { return nil }
            state.isDelivered = true
            let result = outcome(state)
            // Now only the delivered exchange refers to the stream of chunks, so releasing the exchange ends the
            // stream.
            state.body = .whole(Data())
            guard let waiting = state.waiting.take() else {
                state.early = result
                return nil
            }
            return (waiting, result)
        }
        if let (waiting, result) = delivery { waiting.resume(with: result) }
    }
}
