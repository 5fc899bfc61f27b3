import TokenKeepCore
import TokenKeepSession

extension TokenSession {
    /// A sequence of the session's present state and of its state after each change by any process.
    ///
    /// ```swift
    /// for try await info in session.states {
    ///     if info.state == .needsLogin { … }
    /// }
    /// ```
    public var states: States {
        let engine = engine
        return States { cancellation throws(CoreError) in
            let session = SessionEngine(engine, cancelledBy: cancellation, hasOwnWatch: true)
            return StateSource(descriptor: try session.watchDescriptor()) { () throws(CoreError) in
                try session.nextState()
            }
        }
    }

    /// Renews the token before it ends, until the session ends or the task is cancelled.
    ///
    /// Checks the time at least every 30 seconds, so that a suspension of the machine does not delay a renewal for
    /// long. If the server is unreachable or a module is locked, tries again later. When the function returns, no
    /// background work is left.
    ///
    /// - Returns: the reason why the session ended.
    /// - Throws: `CancellationError` if the task is cancelled, ``TokenKeepError`` if the vault cannot be used.
    public func run() async throws -> Reason { try await run(isValidating: false) }

    /// Does a ``run()`` with other intervals or with validation.
    ///
    /// - Parameters:
    ///   - interval: the maximum time between two checks, in milliseconds.
    ///   - isValidating: whether the token is validated every 3 minutes even if the options' `validates` is false.
    package func run(lookingAgainAfter interval: UInt32 = 30_000, isValidating: Bool = false) async throws -> Reason {
        while true {
            let milliseconds: UInt32
            do {
                milliseconds = try await perform { session throws(CoreError) in
                    try session.step(isValidating: isValidating)
                }
            } catch let error as TokenKeepError {
                guard [.notFound, .needsLogin, .expired].contains(error.status) else { throw error }
                return try await info.reason
            }
            try await Task.sleep(for: .milliseconds(Int(min(milliseconds, interval))), clock: .continuous)
        }
    }

    /// An asynchronous sequence of states. The first element is the present state.
    ///
    /// Several changes may produce one element, and a change that is undone at once may produce none. Each iterator has
    /// its own watch and its own thread, and ends soon after its task is cancelled.
    public struct States: AsyncSequence, Sendable {
        /// The type of the elements: a session's state.
        public typealias Element = Info
        /// The error that ends the sequence: ``TokenKeepError/Status/io`` if the system's limit of file watches is
        /// reached, or the error of reading the vault.
        public typealias Failure = TokenKeepError

        let make: @Sendable (Cancellation) throws(CoreError) -> StateSource

        /// Makes an iterator, whose watch begins when the first element is requested.
        public func makeAsyncIterator() -> Iterator { Iterator(make: make) }

        /// The iterator of ``States``, which waits for each change of the state.
        public struct Iterator: AsyncIteratorProtocol {
            let make: @Sendable (Cancellation) throws(CoreError) -> StateSource
            private var waiting: WatchThread<StateSource>?
            private var hasEnded = false

            init(make: @escaping @Sendable (Cancellation) throws(CoreError) -> StateSource) { self.make = make }

            /// The next state; nil when the task is cancelled.
            ///
            /// - Throws: the error of the sequence, see ``States/Failure``. The iterator has ended then.
            public mutating func next() async throws(TokenKeepError) -> Info? { try await next(isolation: nil) }

            /// The next state; nil when the task is cancelled.
            ///
            /// - Throws: the error of the sequence, see ``States/Failure``. The iterator has ended then.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(TokenKeepError) -> Info? {
                guard !hasEnded else { return nil }
                do throws(CoreError) {
                    let thread = if let waiting { waiting } else { try WatchThread(make) }
                    waiting = thread
                    if let info = try await thread.next() { return Info(info) }
                    hasEnded = true
                    waiting = nil
                    return nil
                } catch {
                    hasEnded = true
                    waiting = nil
                    throw TokenKeepError(error)
                }
            }
        }
    }
}

/// A source of the states of one session or of several sessions.
struct StateSource: ChangeSource {
    let descriptor: Int32
    let body: @Sendable () throws(CoreError) -> SessionInfo?

    var lookAgainMilliseconds: Int32 { -1 }

    init(descriptor: Int32, _ body: @escaping @Sendable () throws(CoreError) -> SessionInfo?) {
        self.descriptor = descriptor
        self.body = body
    }

    func next() throws(CoreError) -> SessionInfo? { try body() }
}
