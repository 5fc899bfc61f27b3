import TokenKeepCore

/// The service's total time for one call. Time spent waiting for a person does not count.
final class Budget {
    private(set) var deadline: Deadline

    /// At most `milliseconds`, within a call that must end at `end`.
    init(milliseconds: UInt32, until end: Deadline) { deadline = end.within(milliseconds: milliseconds) }

    /// Restores the time left before a wait for a person, limited by `end`.
    func resume(with milliseconds: UInt32, until end: Deadline) {
        deadline = end.within(milliseconds: milliseconds)
    }
}
