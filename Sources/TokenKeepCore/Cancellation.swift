import Synchronization

/// Cancels calls before their deadline, and wakes calls that wait.
///
/// The ``Deadline`` of a cancelled call counts as passed. A cancellation cannot be undone. Any thread may cancel.
public final class Cancellation: Sendable {
    private struct Wakers {
        var all: [Int: @Sendable () -> Void] = [:]
        var nextNumber = 0
    }

    private let flag = Atomic<Bool>(false)
    private let wakers = MutexGuarded(Wakers())
    private let parent: Cancellation?

    /// - Parameter parent: another object, whose cancellation also cancels this object; nil for none.
    public init(under parent: Cancellation? = nil) { self.parent = parent }

    /// Whether this object or its parent has been cancelled.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) || parent?.isCancelled ?? false }

    /// Cancels the calls that use this object, and wakes those that wait.
    public func cancel() {
        flag.store(true, ordering: .releasing)
        wakers.withLock { wakers in
            for wake in wakers.all.values { wake() }
        }
    }

    /// Calls `body`, which may block. A cancellation during `body` calls `wake`, which must end the wait.
    ///
    /// `body` must check ``isCancelled`` before it waits, because an earlier cancellation does not call `wake`.
    ///
    /// - Parameter wake: runs on the cancelling thread, must be brief and must not cancel anything. `wake` is never
    ///   called after `body` has returned.
    package func waking<Result>(by wake: @escaping @Sendable () -> Void, during body: () -> Result) -> Result {
        let number = wakers.withLock { wakers in
            wakers.nextNumber += 1
            wakers.all[wakers.nextNumber] = wake
            return wakers.nextNumber
        }
        // `cancel()` calls `wake` under the same lock, so that `wake` is never called after its removal here.
        defer { wakers.withLock { _ = $0.all.removeValue(forKey: number) } }
        guard let parent else { return body() }
        return parent.waking(by: wake, during: body)
    }
}
