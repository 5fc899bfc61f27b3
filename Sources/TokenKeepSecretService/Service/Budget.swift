import TokenKeepCore

/// The time limit of the service in one call. The time in which a prompt waits for the user does not count.
final class Budget {
    private(set) var deadline: Deadline

    /// A budget of `milliseconds`, which ends at the latest when the call ends (`end`).
    init(milliseconds: UInt32, until end: Deadline) { deadline = end.within(milliseconds: milliseconds) }

    /// Continues the budget after a prompt, with the time that was left before it, until `end` at the latest.
    func resume(with milliseconds: UInt32, until end: Deadline) {
        deadline = end.within(milliseconds: milliseconds)
    }
}
