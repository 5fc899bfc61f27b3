import TokenKeepCore

/// The time that the service may take during one call. The time in which a prompt waits for the user does not count.
final class Budget {
    private(set) var deadline: Deadline

    /// A budget of `milliseconds`, which ends at the latest when the call ends (`end`).
    init(milliseconds: UInt32, until end: Deadline) { deadline = end.within(milliseconds: milliseconds) }

    /// Continues the budget after a prompt. `milliseconds` is the time that was left before the prompt. The budget ends
    /// at `end` at the latest.
    func resume(with milliseconds: UInt32, until end: Deadline) {
        deadline = end.within(milliseconds: milliseconds)
    }
}
