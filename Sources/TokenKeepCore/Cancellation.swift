import Synchronization

/// Ends calls before their deadline: a ``Deadline`` that carries it has passed once it is cancelled, and whoever waits for
/// that deadline is woken.
///
/// It cannot be undone. Safe from any thread.
public final class Cancellation: Sendable {
    private struct Wakers {
        var all: [Int: @Sendable () -> Void] = [:]
        var nextNumber = 0
    }

    private let flag = Atomic<Bool>(false)
    private let wakers = Guarded(Wakers())
    private let parent: Cancellation?

    /// - Parameter parent: what cancels this one too.
    public init(under parent: Cancellation? = nil) { self.parent = parent }

    /// Whether it was cancelled, or what stands above it.
    public var isCancelled: Bool { flag.load(ordering: .acquiring) || parent?.isCancelled ?? false }

    /// Cancels, and wakes who waits.
    public func cancel() {
        flag.store(true, ordering: .releasing)
        wakers.withLock { wakers in
            for wake in wakers.all.values { wake() }
        }
    }

    /// Runs `body`, which waits; a cancellation meanwhile calls `wake` on the thread that cancels. Body looks at
    /// ``isCancelled`` before it waits: what was cancelled earlier wakes nobody.
    ///
    /// - Parameter wake: brief; it must not cancel, nor be needed once `body` has returned.
    package func waking<Result>(by wake: @escaping @Sendable () -> Void, during body: () -> Result) -> Result {
        let number = wakers.withLock { wakers in
            wakers.nextNumber += 1
            wakers.all[wakers.nextNumber] = wake
            return wakers.nextNumber
        }
        // The wakers are called under the lock: none is still at work behind this.
        defer { wakers.withLock { _ = $0.all.removeValue(forKey: number) } }
        guard let parent else { return body() }
        return parent.waking(by: wake, during: body)
    }
}
