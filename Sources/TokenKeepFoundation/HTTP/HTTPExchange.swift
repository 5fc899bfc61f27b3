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

    /// Ends a response that nobody reads.
    func discard() { task.cancel() }
}

/// A request that is sent and whose response has not arrived.
final class PendingExchange: Sendable {
    private struct State {
        var head: Result<HTTPExchange, any Error>?
        var waiting: CheckedContinuation<HTTPExchange, any Error>?
    }

    private let state = Guarded(State())
    private let task: URLSessionTask
    private let chunks: AsyncThrowingStream<Data, any Error>
    private let continuation: AsyncThrowingStream<Data, any Error>.Continuation

    init(_ task: URLSessionTask) {
        self.task = task
        (chunks, continuation) = AsyncThrowingStream.makeStream(of: Data.self)
        continuation.onTermination = { reason in
            if case .cancelled = reason { task.cancel() }
        }
    }

    /// The response's head.
    func head() async throws -> HTTPExchange {
        try await withCheckedThrowingContinuation { waiting in
            let head = state.withLock { state in
                if state.head == nil { state.waiting = waiting }
                return state.head
            }
            if let head { waiting.resume(with: head) }
        }
    }

    func didReceive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return settle(.failure(APIError.unknown)) }
        settle(.success(HTTPExchange(response: response, chunks: chunks, task: task)))
    }

    func didReceive(_ data: Data) { continuation.yield(data) }

    func didEnd(_ error: (any Error)?) {
        settle(.failure(error ?? APIError.unknown))
        continuation.finish(throwing: error)
    }

    /// Keeps the first outcome.
    private func settle(_ head: Result<HTTPExchange, any Error>) {
        let waiting = state.withLock { state in
            guard state.head == nil else { return nil as CheckedContinuation<HTTPExchange, any Error>? }
            state.head = head
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume(with: head)
    }
}
