import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// Waits for the changes of a store on its own thread, so that the cooperative pool never blocks.
final class WatchThread: Sendable {
    private let engine: Store
    private let service: String?
    private let threads = WorkerThreads(limit: 1)
    /// A descriptor that becomes readable when the wait must end.
    private let end: Int32
    /// The watch, which the first wait makes on the thread.
    private let watch = MutexGuarded<StoreWatch?>(nil)
    /// Cancels a list that waits for a module.
    private let cancellation = Cancellation()

    init(_ engine: Store, service: String?) throws(CoreError) {
        end = tokenkeep_flag_open()
        guard end >= 0 else { throw CoreError(.io, "there are no more descriptors to watch with") }
        self.engine = engine
        self.service = service
    }

    deinit { close(end) }

    /// Waits for the next change, first ``TokenStore/Change/listAgain``; nil once the task is cancelled.
    func next() async throws(CoreError) -> ItemChange? {
        let result: Result<ItemChange?, CoreError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isStarted = threads.run { continuation.resume(returning: self.wait()) }
                if !isStarted {
                    continuation.resume(
                        returning: .failure(CoreError(.io, "no thread could be started for the watch")))
                }
            }
        } onCancel: {
            tokenkeep_flag_raise(end)
            cancellation.cancel()
        }
        return try result.get()
    }

    private func wait() -> Result<ItemChange?, CoreError> {
        do throws(CoreError) {
            guard let watch = watch.withLock({ $0 }) else {
                let made = try StoreWatch(engine, service: service, cancellation: cancellation)
                watch.withLock { $0 = made }
                return .success(cancellation.isCancelled ? nil : .listAgain)
            }
            while true {
                var pollers = [
                    pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0),
                ]
                // The first poll does not wait: a cancelled task gets no more changes.
                poll(&pollers, 1, 0)
                if pollers[0].revents != 0 { return .success(nil) }
                if let change = try watch.next() { return .success(cancellation.isCancelled ? nil : change) }
                poll(&pollers, 2, watch.lookAgainMilliseconds)
            }
        } catch {
            return cancellation.isCancelled ? .success(nil) : .failure(error)
        }
    }
}
