/// What a call allows the modules it visits.
public struct CallContext: Sendable {
    /// When the call must be over.
    public let deadline: Deadline
    /// Whether a module may ask the user for something.
    public let promptsAllowed: Bool

    /// Allows work until `deadline`.
    public init(deadline: Deadline, promptsAllowed: Bool = false) {
        self.deadline = deadline
        self.promptsAllowed = promptsAllowed
    }
}
