@testable import TokenKeepFoundation

/// A clock for one object under test: it stands still until the test advances it, or jumps over each sleep.
final class StandingClock: Clock, Sendable {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant()
        var sleepers: [(end: Instant, wake: AsyncStream<Void>.Continuation)] = []
        var sleeps: [Duration] = []
    }

    private let state = Guarded(State())
    private let jumps: Bool
    private let whileSleeping: @Sendable () async throws -> Void
    /// Each sleep as it begins.
    let begun: AsyncStream<Duration>
    private let begins: AsyncStream<Duration>.Continuation

    /// - Parameter whileSleeping: what happens during each sleep that is jumped over.
    init(jumps: Bool, whileSleeping: @escaping @Sendable () async throws -> Void = {}) {
        self.jumps = jumps
        self.whileSleeping = whileSleeping
        (begun, begins) = AsyncStream.makeStream(of: Duration.self)
    }

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .zero }
    /// The sleeps that have begun.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let (woken, wake) = AsyncStream.makeStream(of: Void.self)
        let time = state.withLock { state in
            let time = state.now.duration(to: deadline)
            state.sleeps.append(time)
            if time <= .zero { wake.finish() } else { state.sleepers.append((deadline, wake)) }
            return time
        }
        begins.yield(time)
        if jumps {
            try await whileSleeping()
            advance(by: time)
        }
        for await _ in woken {}
        try Task.checkCancellation()
    }

    /// Sets the clock forward, and ends the sleeps whose time has come.
    func advance(by time: Duration) {
        let woken = state.withLock { state in
            if time > .zero { state.now = state.now.advanced(by: time) }
            let woken = state.sleepers.filter { $0.end <= state.now }
            state.sleepers.removeAll { $0.end <= state.now }
            return woken.map(\.wake)
        }
        for wake in woken { wake.finish() }
    }
}
