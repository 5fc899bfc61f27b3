import TokenKeepCore
import TokenKeepEngine

extension TokenStore {
    /// Runs a call of the engine on a thread of the store.
    ///
    /// - Throws: ``TokenKeepError``, or `CancellationError` if the task was cancelled before the call ended.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Deadline) throws(CoreError) -> Value
    ) async throws -> Value {
        // A child made by fork() has no threads: the engine throws the error on the caller's thread.
        guard engine.isUsable else {
            return try convertingError { () throws(CoreError) in try body(engine, Deadline(milliseconds: 0)) }
        }
        let cancellation = Cancellation(under: engine.cancellation)
        let result = await outcome(of: body, cancellation)
        // A prompt that the user dismissed has the same status.
        if case .failure(let error) = result, error.status == .cancelled, cancellation.isCancelled {
            throw CancellationError()
        }
        return try convertingError(result.get)
    }

    private func outcome<Value: Sendable>(
        of body: @escaping @Sendable (Store, Deadline) throws(CoreError) -> Value, _ cancellation: Cancellation
    ) async -> Result<Value, CoreError> {
        let deadline = engine.deadline.cancelled(by: cancellation)
        let engine = engine
        let queued = QueuedCall<Value>()
        // ThreadSanitizer does not see that a continuation orders memory; it sees a lock.
        defer { queued.synchronize() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard queued.wait(continuation) else { return continuation.resume(returning: QueuedCall.cancelled) }
                let job: @Sendable () -> Void = {
                    guard let continuation = queued.take() else { return }
                    let result = Result { () throws(CoreError) in try body(engine, deadline) }
                    queued.synchronize()
                    continuation.resume(returning: result)
                }
                if !threads.run(job) {
                    queued.take()?.resume(
                        returning: .failure(CoreError(.io, "no thread could be started for the call")))
                }
            }
        } onCancel: {
            cancellation.cancel()
            queued.take()?.resume(returning: QueuedCall.cancelled)
        }
    }
}
