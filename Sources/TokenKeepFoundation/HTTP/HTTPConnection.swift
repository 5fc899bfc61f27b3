import Foundation
import FoundationNetworking

/// A URLSession that follows no redirect.
///
/// Foundation's asynchronous calls on Linux follow redirects by themselves, with the header Authorization, and ask no
/// delegate of the task. Tasks without a completion handler ask the session's delegate.
final class HTTPConnection: Sendable {
    private let delegate = Delegate()
    private let urlSession: URLSession

    init(_ configuration: URLSessionConfiguration) {
        urlSession = URLSession(configuration: configuration, delegate: delegate, delegateQueue: InlineQueue())
    }

    // The session holds its delegate until it is invalidated.
    deinit { urlSession.finishTasksAndInvalidate() }

    /// Sends a request and returns when the response's head has arrived.
    ///
    /// - Parameters:
    ///   - file: a file that is the body.
    ///   - isWhole: whether to return when the whole body has arrived.
    ///   - running: the request of a session, whose end ends the call.
    /// - Throws: `URLError`; `CancellationError` if the task is cancelled.
    func send(
        _ request: URLRequest, file: URL? = nil, isWhole: Bool = false, for running: RunningRequest = RunningRequest()
    ) async throws -> HTTPExchange {
        try Task.checkCancellation()
        let task =
            file.map { urlSession.uploadTask(with: request, fromFile: $0) } ?? urlSession.dataTask(with: request)
        let pending = PendingExchange(task, isWhole: isWhole)
        delegate.add(pending, task)
        let cancel: @Sendable () -> Void = {
            task.cancel()
            pending.didEnd(CancellationError())
        }
        return try await running.wait(until: cancel) {
            try await withTaskCancellationHandler {
                task.resume()
                do {
                    return try await pending.exchange()
                } catch {
                    try Task.checkCancellation()
                    throw error
                }
            } onCancel: {
                cancel()
            }
        }
    }

    /// Runs the delegate's methods at once, on the thread on which Foundation calls the queue.
    ///
    /// A queue with a thread of its own changes threads three times for each response.
    private final class InlineQueue: OperationQueue, @unchecked Sendable {
        override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
    }

    /// The methods run on the queue of Foundation's own work, for which `URLSessionTask.cancel()` waits: they must not
    /// call it.
    private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
        private let pending = Guarded<[Int: PendingExchange]>([:])

        func add(_ exchange: PendingExchange, _ task: URLSessionTask) {
            pending.withLock { $0[task.taskIdentifier] = exchange }
        }

        private func exchange(of task: URLSessionTask) -> PendingExchange? {
            pending.withLock { $0[task.taskIdentifier] }
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            // The response to the redirect is the task's.
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            exchange(of: dataTask)?.didReceive(response)
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            exchange(of: dataTask)?.didReceive(data)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            // Foundation asks for a password after the response 401 has arrived, and ends no task without one.
            pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.didEnd(nil)
            DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.didEnd(error)
        }
    }
}
