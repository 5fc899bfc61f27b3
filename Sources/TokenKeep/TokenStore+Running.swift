import TokenKeepCore
import TokenKeepEngine

extension TokenStore {
    /// Runs a call of the engine on a thread of the store.
    ///
    /// - Throws: ``TokenKeepError``, or `CancellationError` if the task was cancelled before the call ended.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Deadline) throws(CoreError) -> Value
    ) async throws -> Value {
        // A child made by fork() has no threads, so the engine runs on the caller's thread, where it throws the error
        // for such a child.
        guard engine.isUsable else {
            return try convertingError { () throws(CoreError) in try body(engine, Deadline(milliseconds: 0)) }
        }
        let cancellation = Cancellation(under: engine.cancellation)
        let result = await outcome(of: body, cancellation)
        // A dismissed prompt has the same status, so the cancellation itself is checked, too.
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
        // ThreadSanitizer recognizes the memory order of a lock, but not that of a continuation.
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
