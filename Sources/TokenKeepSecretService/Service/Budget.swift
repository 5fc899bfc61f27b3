import TokenKeepCore

/// The time that the service may take for one call, all answers together. A person's time is not counted.
final class Budget {
    private(set) var deadline: Deadline

    init(milliseconds: UInt32) { deadline = Deadline(milliseconds: milliseconds) }

    /// Gives back, after a person was waited for, what was left before; at most until `end`.
    func resume(with milliseconds: UInt32, until end: Deadline) {
        deadline = min(end, Deadline(milliseconds: milliseconds))
    }
}
