import TokenKeepCore
import TokenKeepEngine

extension TokenStore {
    /// Runs a call of the engine on a thread of the store.
    ///
    /// - Throws: ``TokenKeepError``, or `CancellationError` if the task was cancelled before the call ended.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Deadline) throws(CoreError) -> Value
    ) async throws -> Value {
        // In a child made by fork(), the store's threads do not exist. So the engine is called on this thread, and
        // throws the error for such a child.
        guard engine.isUsable else {
            return try convertingError { () throws(CoreError) in try body(engine, Deadline(milliseconds: 0)) }
        }
        let cancellation = Cancellation(under: engine.cancellation)
        let result = await outcome(of: body, cancellation)
        // A dismissed prompt also has the status `cancelled`, so the cancellation itself is checked, too.
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
        // ThreadSanitizer does not know that resuming a continuation orders memory accesses, and would report a race.
        // It knows this of a lock, so a lock is used in addition.
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
