import Glibc

/// Divides work between the calling thread and new threads.
package enum ParallelWork {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on the calling thread and `help` on other threads, and returns when all threads have finished.
    ///
    /// If some threads cannot be started, fewer threads share the work.
    ///
    /// - Parameter threads: the number of threads to start.
    package static func run(beside threads: Int, _ help: @escaping @Sendable () -> Void, _ body: () -> Void) {
        var started: [pthread_t] = []
        for _ in 0..<threads {
            let retained = Unmanaged.passRetained(Body(help))
            var thread = pthread_t()
            let error = pthread_create(
                &thread, nil,
                { argument in
                    if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
                    return nil
                }, retained.toOpaque())
            guard error == 0 else {
                retained.release()
                break
            }
            started.append(thread)
        }
        body()
        for thread in started { pthread_join(thread, nil) }
    }
}
