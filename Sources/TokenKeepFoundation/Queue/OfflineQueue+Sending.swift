import Foundation
import FoundationNetworking
import TokenKeep

extension OfflineQueue {
    /// Sends the queued requests in order until the queue is empty. If another process or object is sending this
    /// account's requests, waits until it has finished.
    ///
    /// - After a status from 200 to 299, the request is removed, and also after a status that another attempt would not
    ///   change, such as 409.
    /// - After status 401, the token is renewed and the request is repeated once.
    /// - A network failure, 401 with the renewed token, 408, 425, 429 and a status of 500 or more end the call. This
    ///   request and all later requests stay in the queue.
    ///
    /// - Parameter deliver: called with each request that leaves the queue and with its outcome, before the request is
    ///   removed. If the program ends before the removal, the request is sent and delivered again. If `deliver` throws,
    ///   the request stays.
    /// - Returns: the number of requests that left the queue.
    /// - Throws: ``APIError`` for a status that ends the call, ``APIError/authenticationRequired`` if nobody is signed
    ///   in or the session ends during the call, ``APIError/unauthorized`` if the session had ended before the call;
    ///   `URLError` after a network failure; `TokenKeepError` if the vault or the token cannot be used;
    ///   `CancellationError` if the task is cancelled; the error of `deliver`.
    @discardableResult
    public func send(
        _ deliver: @Sendable (_ request: Request, _ outcome: Outcome) async throws -> Void
    ) async throws -> Int {
        let right = try await sendingRight()
        defer { withExtendedLifetime(right) {} }
        var count = 0
        while let entry = try await entries().first {
            guard let queued = try await queued(entry) else { continue }
            guard let outcome = try await outcome(of: entry, queued) else { continue }
            try await deliver(Request(entry, queued.stored), outcome)
            // The request was answered, so it is removed even if the task was cancelled.
            try await Task { try await self.remove(entry) }.value
            count += 1
        }
        return count
    }

    /// Waits until this object has the right to send. Checks again and again (polls), because a blocking wait for
    /// another process's lock would block the thread.
    private func sendingRight() async throws -> QueueStorage.SendingRight {
        var pause = Duration.milliseconds(10)
        while true {
            let right = try await client.session.perform { [storage] engine throws(CoreError) in
                try storage.sendingRight(engine)
            }
            if let right { return right }
            try await Task.sleep(for: pause, clock: .continuous)
            pause = min(pause * 2, .milliseconds(250))
        }
    }

    private func remove(_ entry: QueueEntry) async throws {
        let (_, entries) = try await client.session.perform { [storage] engine throws(CoreError) in
            try storage.remove(engine) { $0.id == entry.id }
        }
        report(entries, left: 1)
    }

    /// Sends a request, and returns its outcome; nil if the request was cancelled.
    private func outcome(of entry: QueueEntry, _ queued: QueuedRequest) async throws -> Outcome? {
        guard clock().timeIntervalSince1970 < TimeInterval(entry.end) else { return .expired }
        let request = try queued.urlRequest()
        // This check prevents that the request is sent after it was cancelled, after a logout, or with the token of a
        // later sign-in.
        let check: @Sendable () async throws -> Void = { [self] in
            guard try await entries().contains(entry) else { throw CancellationError() }
        }
        let task = running.withLock { running in
            // The task is created under the lock. So a concurrent cancellation either finds the task and cancels it, or
            // `check` finds that the request is no longer in the queue.
            let task = Task {
                try await client.send(request, isWhole: true, before: check) {
                    Answer(data: try await $0.body(), response: $0.response, hadToken: $0.hadToken)
                }
            }
            running = (entry.id, task)
            return task
        }
        defer { running.withLock { $0 = nil } }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        storage.didAnswer()
        do {
            return try Self.outcome(of: result.get())
        } catch is CancellationError {
            try Task.checkCancellation()
            return nil
        }
    }

    /// Converts an answer to an outcome.
    ///
    /// - Throws: ``APIError`` if the status is one after which another attempt may succeed.
    private static func outcome(of answer: Answer) throws -> Outcome {
        switch answer.response.statusCode {
        case 200...299: return .accepted(answer.data, answer.response)
        case 401, 408, 425, 429, 500...:
            throw APIError(answer.response, answer.data, hadToken: answer.hadToken) ?? .unknown
        default: return .refused(answer.data, answer.response)
        }
    }

    /// A response with its body, and whether the request was sent with the session's token.
    struct Answer: Sendable {
        let data: Data
        let response: HTTPURLResponse
        let hadToken: Bool
    }
}
