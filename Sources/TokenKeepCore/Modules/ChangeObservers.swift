/// Who wants to be told when a module says that its items may have changed.
package final class ChangeObservers: Sendable {
    package typealias Observer = @Sendable () -> Bool

    private struct State {
        var observers: [Int: Observer] = [:]
        var nextNumber = 0
    }

    private let state = Guarded(State())

    /// Nobody yet.
    package init() {}

    /// Adds one, who is told until he answers false.
    package func add(_ observer: @escaping Observer) {
        state.withLock { state in
            state.observers[state.nextNumber] = observer
            state.nextNumber += 1
        }
    }

    /// Tells everybody, outside the lock, and forgets those who want no more.
    package func tell() {
        for (number, observer) in state.withLock({ $0.observers }) where !observer() {
            state.withLock { _ = $0.observers.removeValue(forKey: number) }
        }
    }
}
