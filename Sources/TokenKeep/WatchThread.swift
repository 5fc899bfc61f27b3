import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// Waits for the changes of a store on a thread of its own: the cooperative pool never waits.
final class WatchThread: Sendable {
    private let engine: Store
    private let service: String?
    private let threads = WorkerThreads(limit: 1)
    /// Readable once the wait is to end.
    private let end: Int32
    /// Made by the first wait, on the thread.
    private let watch = Guarded<StoreWatch?>(nil)
    /// Ends a reading that waits for a module.
    private let cancellation = Cancellation()

    init(_ engine: Store, service: String?) throws(TokenKeepError) {
        end = tokenkeep_flag_open()
        guard end >= 0 else { throw TokenKeepError(.io, "there are no more descriptors to watch with") }
        self.engine = engine
        self.service = service
    }

    deinit { close(end) }

    /// The next change, after ``ItemChange/listAgain`` at first; nil once the task is cancelled.
    func next() async throws(TokenKeepError) -> ItemChange? {
        let result: Result<ItemChange?, TokenKeepError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isStarted = threads.run { continuation.resume(returning: self.wait()) }
                if !isStarted {
                    continuation.resume(
                        returning: .failure(TokenKeepError(.io, "no thread could be started for the watch")))
                }
            }
        } onCancel: {
            tokenkeep_flag_raise(end)
            cancellation.cancel()
        }
        return try result.get()
    }

    private func wait() -> Result<ItemChange?, TokenKeepError> {
        do throws(TokenKeepError) {
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
                // Without waiting at first: a cancelled task gets no more changes.
                poll(&pollers, 1, 0)
                if pollers[0].revents != 0 { return .success(nil) }
                if let change = try watch.next() { return .success(cancellation.isCancelled ? nil : change) }
                poll(&pollers, 2, watch.lookAgainMilliseconds)
            }
        } catch {
            return .failure(error)
        }
    }
}
