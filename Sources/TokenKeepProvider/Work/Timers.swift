import TokenKeepCore

/// Closures that the bus thread runs after a delay.
struct Timers {
    private var pending: [(deadline: Deadline, body: () -> Void)] = []

    mutating func after(_ milliseconds: UInt32, _ body: @escaping () -> Void) {
        pending.append((Deadline(milliseconds: milliseconds), body))
    }

    /// The time, in milliseconds, until the next closure is due; nil if there is none.
    var next: UInt32? { pending.map(\.deadline.remainingMilliseconds).min() }

    /// Removes and returns the closures that are due.
    mutating func takeDue() -> [() -> Void] {
        let now = pending
        pending = []
        var due: [() -> Void] = []
        for timer in now {
            if timer.deadline.hasPassed { due.append(timer.body) } else { pending.append(timer) }
        }
        return due
    }
}
