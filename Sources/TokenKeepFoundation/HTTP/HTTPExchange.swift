import Foundation
import FoundationNetworking

/// A response whose head has arrived, and the body as it arrives.
struct HTTPExchange: Sendable {
    let response: HTTPURLResponse
    let chunks: AsyncThrowingStream<Data, any Error>
    let task: URLSessionTask

    /// The whole body.
    func body() async throws -> Data {
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
/// The head owns the body: when the reader releases the body, the task is cancelled.
final class PendingExchange: Sendable {
    private enum State {
        case sent(AsyncThrowingStream<Data, any Error>)
        case awaited(AsyncThrowingStream<Data, any Error>, CheckedContinuation<HTTPExchange, any Error>)
        /// The outcome came before the call of ``head()``.
        case settled(Result<HTTPExchange, any Error>)
        case delivered
    }

    private let state: Guarded<State>
    private let task: URLSessionTask
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation

    init(_ task: URLSessionTask) {
        self.task = task
        let (chunks, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
        self.continuation = continuation
        state = Guarded(.sent(chunks))
        continuation.onTermination = { reason in
            if case .cancelled = reason { task.cancel() }
        }
    }

    /// The response's head. Called once.
    func head() async throws -> HTTPExchange {
        try await withCheckedThrowingContinuation { waiting in
            let settled = state.withLock { state -> Result<HTTPExchange, any Error>? in
                switch state {
                case .sent(let chunks): state = .awaited(chunks, waiting)
                case .settled(let head):
                    state = .delivered
                    return head
                case .awaited, .delivered: return .failure(APIError.unknown)
                }
                return nil
            }
            if let settled { waiting.resume(with: settled) }
        }
    }

    func didReceive(_ response: URLResponse) {
        let task = task
        settle { chunks in
            guard let response = response as? HTTPURLResponse else { return .failure(APIError.unknown) }
            return .success(HTTPExchange(response: response, chunks: chunks, task: task))
        }
    }

    func didReceive(_ data: Data) { continuation.yield(data) }

    func didEnd(_ error: (any Error)?) {
        settle { _ in .failure(error ?? APIError.unknown) }
        continuation.finish(throwing: error)
    }

    /// Keeps or delivers the first outcome.
    private func settle(_ outcome: (AsyncThrowingStream<Data, any Error>) -> Result<HTTPExchange, any Error>) {
        var delivery: (CheckedContinuation<HTTPExchange, any Error>, Result<HTTPExchange, any Error>)?
        state.withLock { state in
            switch state {
            case .sent(let chunks): state = .settled(outcome(chunks))
            case .awaited(let chunks, let waiting):
                delivery = (waiting, outcome(chunks))
                state = .delivered
            case .settled, .delivered: break
            }
        }
        if let (waiting, head) = delivery { waiting.resume(with: head) }
    }
}
