import TokenKeepCore

/// The time that the service may take for one call, all answers together. A person's time is not counted.
final class Budget {
    private(set) var deadline: Deadline

    /// At most `milliseconds` of a call that must be over by `end`.
    init(milliseconds: UInt32, until end: Deadline) { deadline = end.within(milliseconds: milliseconds) }

    /// Gives back, after a person was waited for, what was left before; at most until `end`.
    func resume(with milliseconds: UInt32, until end: Deadline) {
        deadline = end.within(milliseconds: milliseconds)
    }
}
