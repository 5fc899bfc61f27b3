import Synchronization

/// Ends calls before their deadline. A cancelled ``Deadline`` counts as passed, and its waiting calls wake.
///
/// A cancellation is final. Safe from any thread.
public final class Cancellation: Sendable {
    private struct Wakers {
        var all: [Int: @Sendable () -> Void] = [:]
        var nextNumber = 0
    }

    private let flag = Atomic<Bool>(false)
    private let wakers = MutexGuarded(Wakers())
    private let parent: Cancellation?

    /// - Parameter parent: a cancellation that cancels this object too.
    public init(under parent: Cancellation? = nil) { self.parent = parent }

    /// Whether this object or its parent was cancelled.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) || parent?.isCancelled ?? false }

    /// Cancels the calls, and wakes those that wait.
    public func cancel() {
        flag.store(true, ordering: .releasing)
        wakers.withLock { wakers in
            for wake in wakers.all.values { wake() }
        }
    }

    /// Runs a waiting `body`. A cancellation meanwhile calls `wake` on the cancelling thread.
    ///
    /// `body` must check ``isCancelled`` before it waits: an earlier cancellation does not call `wake`.
    ///
    /// - Parameter wake: must be brief, and must not cancel. It is never called after `body` has returned.
    package func waking<Result>(by wake: @escaping @Sendable () -> Void, during body: () -> Result) -> Result {
        let number = wakers.withLock { wakers in
            wakers.nextNumber += 1
            wakers.all[wakers.nextNumber] = wake
            return wakers.nextNumber
        }
        // The wakers run under the lock: no waker runs after the removal.
        defer { wakers.withLock { _ = $0.all.removeValue(forKey: number) } }
        guard let parent else { return body() }
        return parent.waking(by: wake, during: body)
    }
}
