/// Delivers each element to all streams that exist when the element is sent.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var continuations: [Int: AsyncStream<Element>.Continuation] = [:]
        var next = 0
    }

    /// The maximum number of elements that a stream buffers for a slow reader. The latest elements are kept.
    private static var limit: Int { 256 }
    private let state = Guarded(State())

    deinit {
        let continuations = state.withLock { Array($0.continuations.values) }
        for continuation in continuations { continuation.finish() }
    }

    func stream() -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(Self.limit))
        let number = state.withLock { state in
            defer { state.next += 1 }
            state.continuations[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            guard let self else { return }
            // The removed continuation is released outside of the lock: it may be the last reference to its stream,
            // whose release could need the lock.
            _ = self.state.withLock { $0.continuations.removeValue(forKey: number) }
        }
        return stream
    }

    func send(_ element: Element) {
        let continuations = state.withLock { Array($0.continuations.values) }
        for continuation in continuations { continuation.yield(element) }
    }
}
