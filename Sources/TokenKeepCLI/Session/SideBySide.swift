import Dispatch
import TokenKeepCore

/// Runs work on several threads.
enum SideBySide {
    /// Calls `body` with each number below `count`, in order, on at most `threads` threads, and waits for the last call.
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
