import CSystemShims
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// A source of changes whose descriptor a thread can wait for with poll(2).
protocol ChangeSource: Sendable {
    associatedtype Change: Sendable

    /// A descriptor that becomes readable when ``next()`` may have a change.
    var descriptor: Int32 { get }
    /// The maximum time between two calls of ``next()``, in milliseconds; -1 for no limit.
    var lookAgainMilliseconds: Int32 { get }
    /// Returns the next change; nil if there is no change at present.
    func next() throws(CoreError) -> Change?
}

extension StoreWatch: ChangeSource {}

/// Waits for changes on a thread of its own, so that no thread of Swift's cooperative pool blocks.
final class WatchThread<Source: ChangeSource>: Sendable {
    private let make: @Sendable (Cancellation) throws(CoreError) -> Source
    /// The change that is returned first, without waiting; nil if the watch itself provides the first change.
    private let first: Source.Change?
    private let threads = WorkerThreads(limit: 1)
    /// A descriptor that becomes readable when the wait must end.
    private let end: Int32
    /// The watch, which the thread makes at its first wait.
    private let watch = MutexGuarded<Source?>(nil)
    /// Cancels the watch while it lists items and waits for a module.
    private let cancellation = Cancellation()

    init(
        first: Source.Change? = nil, _ make: @escaping @Sendable (Cancellation) throws(CoreError) -> Source
    ) throws(CoreError) {
        end = tokenkeep_flag_open()
        guard end >= 0 else { throw CoreError(.io, "there are no more descriptors to watch with") }
        self.make = make
        self.first = first
    }

    deinit { close(end) }

    /// Waits for the next change; nil after the task was cancelled.
    func next() async throws(CoreError) -> Source.Change? {
        let result: Result<Source.Change?, CoreError> = await withTaskCancellationHandler {
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

    private func wait() -> Result<Source.Change?, CoreError> {
        do throws(CoreError) {
            let found = watch.withLock { $0 }
            let watch = if let found { found } else { try make(cancellation) }
            if found == nil {
                self.watch.withLock { $0 = watch }
                if let first { return .success(cancellation.isCancelled ? nil : first) }
            }
            while true {
                var pollers = [
                    pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                    pollfd(fd: watch.descriptor, events: Int16(POLLIN), revents: 0),
                ]
                // This poll does not wait. It only checks for a cancellation, because a cancelled task must get no more
                // changes.
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
