import TokenKeepCore
import TokenKeepSession

extension TokenSession {
    /// The present state, and the state after each change by any process.
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

    /// Renews the token before it ends, until the session ends or the task is cancelled. Looks again every 30 seconds at
    /// least, so that a suspension of the machine delays nothing.
    ///
    /// Nothing of it runs once this returns. A server that is away and a locked place are tried again.
    ///
    /// - Returns: the reason why the session ended.
    /// - Throws: `CancellationError` if the task is cancelled, ``TokenKeepError`` if the vault cannot be used.
    public func run() async throws -> Reason { try await run(isValidating: false) }

    /// See ``run()``.
    ///
    /// - Parameters:
    ///   - interval: in milliseconds.
    ///   - isValidating: whether the server is asked every 3 minutes although the options have not `validates`.
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

    /// An asynchronous sequence of states, first the present.
    ///
    /// Several changes may make one element, and a change that is undone at once none. Each iterator has its own watch and
    /// waits on its own thread; it ends soon after its task is cancelled.
    public struct States: AsyncSequence, Sendable {
        /// A state.
        public typealias Element = Info
        /// The reason why the sessions cannot be watched: ``TokenKeepError/Status/io`` if the system allows no more
        /// watches, or the reason why the vault cannot be read.
        public typealias Failure = TokenKeepError

        let make: @Sendable (Cancellation) throws(CoreError) -> StateSource

        /// Makes an iterator; its watch begins with the first element.
        public func makeAsyncIterator() -> Iterator { Iterator(make: make) }

        /// The iterator of ``States``, which waits for each change.
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

/// The states of one session, or of several.
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
