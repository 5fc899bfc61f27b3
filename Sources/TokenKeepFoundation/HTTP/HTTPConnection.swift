import Foundation
import FoundationNetworking

/// A URLSession that does not follow redirects.
///
/// On Linux, Foundation's asynchronous methods follow redirects, send the header Authorization to the new address, and
/// do not call the task's delegate. So this class uses tasks without a completion handler, which call the session's
/// delegate.
final class HTTPConnection: Sendable {
    private let delegate = Delegate()
    private let urlSession: URLSession

    init(_ configuration: URLSessionConfiguration) {
        urlSession = URLSession(configuration: configuration, delegate: delegate, delegateQueue: InlineQueue())
    }

    // A URLSession retains its delegate until the session is invalidated, so it is invalidated here.
    deinit { urlSession.finishTasksAndInvalidate() }

    /// Sends a request and returns when the response's header fields have arrived.
    ///
    /// - Parameters:
    ///   - file: the file whose content is the body; nil for the request's own body.
    ///   - isWhole: whether to return only after the whole body has arrived.
    ///   - running: the request to which the call belongs. The end of its session cancels the call.
    /// - Throws: `URLError` after a network failure; `CancellationError` if the task is cancelled.
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

    /// A queue that runs the delegate's methods at once, on the thread on which Foundation adds them.
    ///
    /// A queue with its own thread would cost three thread switches for each response.
    private final class InlineQueue: OperationQueue, @unchecked Sendable {
        override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
    }

    /// Receives the events of tasks.
    ///
    /// The methods run on Foundation's work queue. They must not call `URLSessionTask.cancel()`, which would wait for
    /// this queue for ever.
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
            // With nil, Foundation does not follow the redirect, and the task ends with the redirect's response.
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
            // After a response 401, Foundation requests credentials and never ends the task, so the exchange is ended
            // here.
            pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.didEnd(nil)
            DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            pending.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.didEnd(error)
        }
    }
}
