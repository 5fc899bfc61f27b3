import TokenKeepCore

/// Who wants to be told when the service says that its items changed.
final class ServiceObservers: Sendable {
    typealias Observer = @Sendable () -> Bool

    private struct State {
        var observers: [Int: Observer] = [:]
        var nextNumber = 0
    }

    private let state = Guarded(State())

    func add(_ observer: @escaping Observer) {
        state.withLock { state in
            state.observers[state.nextNumber] = observer
            state.nextNumber += 1
        }
    }

    /// Tells everybody, outside the lock, and forgets those who want no more.
    func tell() {
        for (number, observer) in state.withLock({ $0.observers }) where !observer() {
            state.withLock { _ = $0.observers.removeValue(forKey: number) }
        }
    }
}
