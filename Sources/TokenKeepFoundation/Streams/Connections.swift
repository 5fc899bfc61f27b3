import TokenKeep

/// Runs one connection after another, each with a token of a session.
struct Connections: Sendable {
    typealias Connect = @Sendable (TokenSession.Token) async throws -> Void

    /// The reason why a connection ended, and whether another one follows.
    private enum End: Sendable {
        case reconnect(ReconnectionOptions.Cause)
        case finished
        case failed(any Error)

        var isRefusal: Bool {
            if case .reconnect(.refused) = self { true } else { false }
        }

        init(_ error: any Error) {
            self =
                switch error {
                case ConnectionEnd.refused: .reconnect(.refused)
                case ConnectionEnd.finished: .finished
                case ConnectionEnd.failed(let error): .failed(error)
                default: .reconnect(.failed(error))
                }
        }
    }

    /// The pause between two attempts to get another token from the session when the present token is about to expire.
    private static let glance = Duration.seconds(30)

    let session: TokenSession
    let options: ReconnectionOptions

    /// Runs connections one after another until one of them ends the stream.
    ///
    /// - Throws: the error of a request for a token, unless the error is temporary (`isPassing`); the error of
    ///   ``ConnectionEnd/failed(_:)``; `CancellationError` if the task is cancelled.
    func run(_ connect: @escaping Connect) async throws {
        var pauses = Pauses(options)
        /// The token of the last connection if the server refused this token; nil otherwise.
        var refused: TokenSession.Token?
        while true {
            let end: End
            var time = Duration.zero
            do {
                let token = try await token(inPlaceOf: refused)
                let timed = await timed(options.clock) { await self.end(of: token, connect) }
                end = timed.end
                time = timed.time
                refused = end.isRefusal ? token : nil
            } catch let error as TokenKeepError where error.isPassing {
                end = .reconnect(.failed(error))
            }
            try Task.checkCancellation()
            switch end {
            case .finished: return
            case .failed(let error): throw error
            case .reconnect(let cause):
                let pause = pauses.pause(after: cause, lasting: time)
                options.willReconnect?(cause, pause)
                if pause > .zero { try await options.clock.sleep(for: pause) }
            }
        }
    }

    /// Runs a connection, and measures its duration.
    private func timed(
        _ clock: some Clock<Duration>, _ connection: () async -> End
    ) async -> (end: End, time: Duration) {
        let start = clock.now
        let end = await connection()
        return (end, start.duration(to: clock.now))
    }

    private func token(inPlaceOf refused: TokenSession.Token?) async throws -> TokenSession.Token {
        if let refused { return try await session.rejected(refused) }
        return try await session.token()
    }

    /// Runs one connection until it ends or must be replaced.
    private func end(of token: TokenSession.Token, _ connect: @escaping Connect) async -> End {
        await withTaskGroup(of: End?.self) { group in
            group.addTask {
                do {
                    try await connect(token)
                    return .reconnect(.closed)
                } catch {
                    return End(error)
                }
            }
            group.addTask { await change(after: token) }
            if case .beforeEnd(let time) = options.renewal { group.addTask { await successor(of: token, time) } }
            defer { group.cancelAll() }
            for await case let end? in group { return end }
            return .reconnect(.closed)
        }
    }

    /// Waits until a change of the session requires a new connection or ends the stream; nil if the session cannot be
    /// watched.
    private func change(after token: TokenSession.Token) async -> End? {
        do {
            for try await _ in session.states {
                do {
                    let present = try await session.token()
                    if options.renewal == .afterRefresh, present.value != token.value { return .reconnect(.renewed) }
                } catch let error as TokenKeepError where error.isEndOfSession {
                    return .failed(error)
                } catch {
                    // A locked module or an unreachable server does not end the connection.
                }
            }
        } catch {
            return nil
        }
        return nil
    }

    /// Waits until the token is about to end and another token exists; nil if the token's end is unknown or the task is
    /// cancelled.
    private func successor(of token: TokenSession.Token, _ time: Duration) async -> End? {
        guard let left = token.timeLeft else { return nil }
        // A short-lived token is used for at least half of its remaining time.
        let time = min(time, left / 2)
        do {
            try await options.clock.sleep(for: left - time)
            while true {
                if let next = try? await session.token(minTTL: time), next.value != token.value {
                    return .reconnect(.renewed)
                }
                try await options.clock.sleep(for: Self.glance)
            }
        } catch {
            return nil
        }
    }

    /// Determines the pauses between connections, from the failures so far.
    private struct Pauses {
        private let longest: Duration
        private var failures = 0
        private var refusals = 0

        init(_ options: ReconnectionOptions) { longest = options.longestPause }

        mutating func pause(after cause: ReconnectionOptions.Cause, lasting time: Duration) -> Duration {
            if time >= longest { (failures, refusals) = (0, 0) }
            switch cause {
            case .renewed: return .zero
            case .refused where refusals == 0:
                refusals = 1
                return .zero
            case .refused, .closed, .failed:
                defer { failures += 1 }
                return RepeatPolicy.wait(before: failures, upTo: longest)
            }
        }
    }
}

extension TokenKeepError {
    /// Whether the session has ended.
    fileprivate var isEndOfSession: Bool { [.notFound, .needsLogin, .expired].contains(status) }

    /// Whether the failure is temporary, so that a later request for a token may succeed.
    fileprivate var isPassing: Bool { [.unavailable, .timedOut, .busy, .locked].contains(status) }
}
