import Dispatch
import TokenKeepCore

/// Runs work on several threads.
enum SideBySide {
    /// Calls `body` once for each number from 0 to `count` - 1, on at most `threads` threads, and waits until all calls
    /// have returned. The calls begin in the order of the numbers.
    static func run(_ count: Int, threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let next = MutexGuarded(0)
        let work = { @Sendable in
            while true {
                let number = next.withLock { next in
                    next += 1
                    return next - 1
                }
                guard number < count else { return }
                body(number)
            }
        }
        let isDone = DispatchSemaphore(value: 0)
        var started = 0
        for _ in 1..<max(1, min(threads, count)) {
            let error = DetachedThread.start {
                work()
                isDone.signal()
            }
            started += error == 0 ? 1 : 0
        }
        work()
        for _ in 0..<started { isDone.wait() }
    }
}
