import Foundation
import FoundationNetworking

/// A response, with its body or with the body's chunks as they arrive.
struct HTTPExchange: Sendable {
    enum Body: Sendable {
        case whole(Data)
        case arriving(AsyncThrowingStream<Data, any Error>)
    }

    let response: HTTPURLResponse
    let content: Body
    let task: URLSessionTask
    /// Whether the request had the session's token. A server that saw no token has refused none.
    var hadToken = false

    /// The chunks of the body; one chunk for a body that is whole.
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

    /// The whole body.
    func body() async throws -> Data {
        if case .whole(let body) = content { return body }
        var body = Data()
        for try await chunk in chunks { body.append(chunk) }
        // A stream ends without an error if its task is cancelled.
        try Task.checkCancellation()
        return body
    }

    /// Cancels a response whose body is not needed.
    func discard() { task.cancel() }
}

/// A request that is sent and whose response has not arrived.
///
/// The exchange owns the chunks of a body: when their reader releases them, the task is cancelled.
final class PendingExchange: Sendable {
    private struct State {
        var body: HTTPExchange.Body
        var response: HTTPURLResponse?
        var waiting: CheckedContinuation<HTTPExchange, any Error>?
        /// An outcome that came before the call of ``exchange()``.
        var early: Result<HTTPExchange, any Error>?
        var isSettled = false

        /// Appends to a body in place.
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

    /// - Parameter isWhole: whether the response is passed on when the whole body has arrived. It takes one change of
    ///   threads then, in the place of one for each chunk.
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
            // Foundation's own queue may release the last reference, and `cancel()` waits for that queue.
            if case .cancelled = reason { DispatchQueue.global().async { task.cancel() } }
        }
    }

    /// The response, when its head or its whole body has arrived. Called once.
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
        guard let response = response as? HTTPURLResponse else { return settle { _ in .failure(APIError.unknown) } }
        guard continuation == nil else {
            return settle { [task] state in
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
        settle { [task] state in
            guard error == nil, let response = state.response else { return .failure(error ?? APIError.unknown) }
            return .success(HTTPExchange(response: response, content: state.body, task: task))
        }
        continuation?.finish(throwing: error)
    }

    /// Keeps or delivers the first outcome.
    private func settle(_ outcome: (State) -> Result<HTTPExchange, any Error>) {
        let delivery = state.withLock {
            state -> (CheckedContinuation<HTTPExchange, any Error>, Result<HTTPExchange, any Error>)? in
            guard !state.isSettled else { return nil }
            state.isSettled = true
            let result = outcome(state)
            // The exchange alone holds the chunks from here on.
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
