/// Functions that a module calls after its items may have changed.
package final class ChangeObservers: Sendable {
    package typealias Observer = @Sendable () -> Bool

    private struct State {
        var observers: [Int: Observer] = [:]
        var nextNumber = 0
    }

    private let state = MutexGuarded(State())

    package init() {}

    /// Adds an observer, which is called after each possible change until it returns false.
    package func add(_ observer: @escaping Observer) {
        state.withLock { state in
            state.observers[state.nextNumber] = observer
            state.nextNumber += 1
        }
    }

    /// Calls all observers, and removes each observer that returns false. No lock is held during the calls.
    package func tell() {
        for (number, observer) in state.withLock({ $0.observers }) where !observer() {
            state.withLock { _ = $0.observers.removeValue(forKey: number) }
        }
    }
}
