import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// Connections that come back after a refresh, a refusal and a failure.
@Suite(.timeLimit(.minutes(20))) struct ReconnectingStreamTests {
    private let world = FoundationWorld()
    /// The connections so far, by their tokens.
    private let log = ConnectionLog()

    private func options(
        _ renewal: ReconnectionOptions.Renewal = .afterRefresh, _ clock: StandingClock = StandingClock(jumps: true)
    ) -> ReconnectionOptions {
        var options = ReconnectionOptions()
        options.renewal = renewal
        options.clock = clock
        options.willReconnect = { [log] cause, pause in log.add(cause, pause) }
        return options
    }

    /// A stream whose connections end one after another as given, and then by `finished`.
    private func stream(
        _ session: TokenSession, _ options: ReconnectionOptions, ending ends: [any Error]
    ) -> ReconnectingStream<Never> {
        ReconnectingStream(session, options: options) { [log] token in
            let number = log.connect(token)
            throw number < ends.count ? ends[number] : ConnectionEnd.finished
        }
    }

    @Test func aRefusedTokenIsReplacedAtOnce() async throws {
        try await stream(world.signedIn(), options(), ending: [ConnectionEnd.refused]).run()
        #expect(log.tokens == ["access-1", "access-2"])
        #expect(log.causes == ["refused"])
        #expect(log.pauses == [.zero])
        #expect(await world.authority.refreshed == ["refresh-1"])
    }

    @Test func aTokenThatIsRefusedTooIsFollowedByPauses() async throws {
        let refused = [any Error](repeating: ConnectionEnd.refused, count: 3)
        try await stream(world.signedIn(), options(), ending: refused).run()
        #expect(log.tokens == ["access-1", "access-2", "access-3", "access-4"])
        #expect(log.areAbout(log.pauses, [0, 1, 2]))
    }

    @Test func pausesGrowToTheLongestAndBeginAnewAfterALongConnection() async throws {
        let clock = StandingClock(jumps: true)
        var options = options(.whenRefused, clock)
        options.longestPause = .seconds(8)
        let session = try await world.signedIn()
        try await ReconnectingStream(session, options: options) { [log] token in
            switch log.connect(token) {
            case 0..<5: throw Missing("the network")
            case 5:
                clock.advance(by: .seconds(9))
                throw Missing("the network")
            default: throw ConnectionEnd.finished
            }
        }.run()
        #expect(log.areAbout(log.pauses, [1, 2, 4, 8, 8, 1]))
        #expect(clock.sleeps == log.pauses)
        #expect(Set(log.tokens) == ["access-1"])
        #expect(Set(log.causes) == ["failed"])
    }

    @Test func aConnectionThatTheServerClosesComesBackAfterAPause() async throws {
        try await ReconnectingStream(world.signedIn(), options: options()) { [log] token in
            if log.connect(token) > 0 { throw ConnectionEnd.finished }
        }.run()
        #expect(log.causes == ["closed"])
        #expect(log.areAbout(log.pauses, [1]))
    }

    @Test func aRefreshByAnotherProcessBringsAConnectionWithTheNewToken() async throws {
        let session = try await world.signedIn()
        try await ReconnectingStream(session, options: options()) { [log, world] token in
            guard log.connect(token) == 0 else { throw ConnectionEnd.finished }
            _ = try await world.session().refresh()
            try await untilCancelled()
        }.run()
        #expect(log.tokens == ["access-1", "access-2"])
        #expect(log.causes == ["renewed"])
        #expect(log.pauses == [.zero])
    }

    @Test func aRefreshEndsNoConnectionThatLastsUntilARefusal() async throws {
        let session = try await world.signedIn()
        let stream = ReconnectingStream(session, options: options(.whenRefused)) { [log, world] token in
            _ = log.connect(token)
            let other = try await world.session()
            _ = try await other.refresh()
            try await other.end()
            try await untilCancelled()
        }
        await expect(.notFound) { try await stream.run() }
        #expect(log.tokens == ["access-1"])
    }

    @Test func aTokenThatEndsSoonMakesWayForItsSuccessor() async throws {
        let clock = StandingClock(jumps: false)
        let session = try await world.signedIn()
        let running = Task { [log] in
            try await ReconnectingStream(session, options: options(.beforeEnd(.seconds(300)), clock)) { token in
                guard log.connect(token) == 0 else { throw ConnectionEnd.finished }
                try await untilCancelled()
            }.run()
        }
        var begun = clock.begun.makeAsyncIterator()
        let first = try #require(await begun.next())
        #expect((Duration.seconds(3200)...Duration.seconds(3300)).contains(first))
        // Nobody has renewed the token, and by the session's clock it is good: the stream looks again.
        clock.advance(by: first)
        #expect(await begun.next() == .seconds(30))
        _ = try await world.session().refresh()
        #expect(log.tokens == ["access-1"])
        clock.advance(by: .seconds(30))
        try await running.value
        #expect(log.tokens == ["access-1", "access-2"])
        #expect(log.causes == ["renewed"])
    }

    @Test func halfOfAShortTimeIsUsed() async throws {
        let clock = StandingClock(jumps: false)
        let session = try await world.signedIn(lifetime: 200)
        let running = Task {
            try await ReconnectingStream(session, options: options(.beforeEnd(.seconds(300)), clock)) { _ in
                try await untilCancelled()
            }.run()
        }
        var begun = clock.begun.makeAsyncIterator()
        let first = try #require(await begun.next())
        #expect((Duration.seconds(50)...Duration.seconds(100)).contains(first))
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
    }

    @Test func aLogoutByAnotherProcessEndsConnectionAndStream() async throws {
        let session = try await world.signedIn()
        let stream = ReconnectingStream(session, options: options()) { [log, world] token in
            _ = log.connect(token)
            try await world.session().end()
            try await untilCancelled()
        }
        await expect(.notFound) { try await stream.run() }
        #expect(log.tokens == ["access-1"])
        #expect(log.causes.isEmpty)
    }

    @Test func aRefusalOfTheRefreshTokenEndsTheStream() async throws {
        let session = try await world.signedIn()
        await world.authority.become(.refuses)
        let stream = stream(session, options(), ending: [ConnectionEnd.refused])
        await expect(.needsLogin) { try await stream.run() }
        #expect(log.tokens == ["access-1"])
    }

    @Test func aServerThatIsAwayIsAskedAgainAndTheRefusedTokenIsNotUsed() async throws {
        let session = try await world.signedIn()
        await world.authority.become(.isAway)
        let clock = StandingClock(jumps: true) { [world] in await world.authority.become(.answers) }
        try await stream(session, options(.whenRefused, clock), ending: [ConnectionEnd.refused]).run()
        #expect(log.tokens == ["access-1", "access-2"])
        #expect(log.causes == ["refused", "failed"])
        #expect(log.areAbout(log.pauses, [0, 1]))
    }

    @Test func anErrorOfTheApplicationIsThrown() async throws {
        let stream = try await stream(
            world.signedIn(), options(), ending: [ConnectionEnd.failed(TokenKeepError(.unavailable, "enough"))])
        await expect(.unavailable) { try await stream.run() }
        #expect(log.tokens == ["access-1"])
    }

    @Test func aCancelledTaskEndsItsConnection() async throws {
        let session = try await world.signedIn()
        let (connected, connects) = AsyncStream.makeStream(of: Void.self)
        let running = Task { [log] in
            try await ReconnectingStream(session, options: options()) { token in
                _ = log.connect(token)
                connects.finish()
                try await untilCancelled()
            }.run()
        }
        for await _ in connected {}
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(log.tokens == ["access-1"])
        #expect(log.causes.isEmpty)
    }
}

/// Messages of connections, on their way to the reader.
@Suite(.timeLimit(.minutes(20))) struct ReconnectingStreamMessageTests {
    private let world = FoundationWorld()
    private let log = ConnectionLog()

    private var options: ReconnectionOptions {
        var options = ReconnectionOptions()
        options.clock = StandingClock(jumps: true)
        return options
    }

    @Test func messagesOfAllConnectionsArriveInOrder() async throws {
        let stream = ReconnectingStream<String>(try await world.signedIn(), options: options) { [log] token, messages in
            let number = log.connect(token)
            for text in ["a", "b"] { try await messages.send("\(text)\(number)") }
            throw [ConnectionEnd.refused, .finished][number]
        }
        var texts: [String] = []
        for try await text in stream { texts.append(text) }
        #expect(texts == ["a0", "b0", "a1", "b1"])
        #expect(log.tokens == ["access-1", "access-2"])
    }

    @Test func aSenderWaitsForItsReader() async throws {
        let sent = Guarded(0)
        let stream = ReconnectingStream<Int>(try await world.signedIn(), options: options) { _, messages in
            for number in 1...20 {
                try await messages.send(number)
                sent.withLock { $0 = number }
            }
            throw ConnectionEnd.finished
        }
        var taken = 0
        for try await number in stream {
            taken += 1
            #expect(number == taken)
            #expect(sent.withLock { $0 } <= taken)
        }
        #expect(taken == 20)
    }

    @Test func aReaderThatGoesAwayEndsTheConnection() async throws {
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        let stream = ReconnectingStream<Int>(try await world.signedIn(), options: options) { _, messages in
            do {
                try await messages.send(1)
                try await messages.send(2)
                end.yield("was not ended")
            } catch {
                end.yield("\(type(of: error))")
            }
            try Task.checkCancellation()
        }
        for try await _ in stream { break }
        var first = ended.makeAsyncIterator()
        #expect(await first.next() == "CancellationError")
    }

    @Test func theEndOfTheSessionIsThrownToTheReader() async throws {
        let session = try await world.signedIn()
        let stream = ReconnectingStream<Int>(session, options: options) { _, messages in
            try await messages.send(1)
            try await session.end()
            try await untilCancelled()
        }
        var messages = stream.makeAsyncIterator()
        #expect(try await messages.next() == 1)
        await expect(.notFound) { try await messages.next() }
    }
}

/// Waits until the task is cancelled.
private func untilCancelled() async throws {
    let (never, continuation) = AsyncStream.makeStream(of: Void.self)
    for await _ in never {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
}

/// The connections of a stream.
private final class ConnectionLog: Sendable {
    private struct State {
        var tokens: [String] = []
        var causes: [String] = []
        var pauses: [Duration] = []
    }

    private let state = Guarded(State())

    var tokens: [String] { state.withLock { $0.tokens } }
    var causes: [String] { state.withLock { $0.causes } }
    var pauses: [Duration] { state.withLock { $0.pauses } }

    /// Notes a connection. Returns how many there were before.
    func connect(_ token: TokenSession.Token) -> Int {
        state.withLock { state in
            state.tokens.append(token.value.utf8String ?? "")
            return state.tokens.count - 1
        }
    }

    func add(_ cause: ReconnectionOptions.Cause, _ pause: Duration) {
        let name =
            switch cause {
            case .renewed: "renewed"
            case .refused: "refused"
            case .closed: "closed"
            case .failed: "failed"
            }
        state.withLock { state in
            state.causes.append(name)
            state.pauses.append(pause)
        }
    }

    /// Whether each time is that of so many seconds, ± 20 %.
    func areAbout(_ times: [Duration], _ seconds: [Int]) -> Bool {
        times.count == seconds.count
            && zip(times, seconds).allSatisfy { time, seconds in
                (Duration.milliseconds(800 * seconds)...Duration.milliseconds(1200 * seconds)).contains(time)
            }
    }
}
