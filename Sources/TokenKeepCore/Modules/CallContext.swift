/// What a call allows the modules it visits.
public struct CallContext: Sendable {
    /// When the call must be over, and what ends it earlier.
    public let deadline: Deadline
    /// Whether a module may ask the user for something.
    public let promptsAllowed: Bool

    /// Allows work until `deadline`.
    public init(deadline: Deadline, promptsAllowed: Bool = false) {
        self.deadline = deadline
        self.promptsAllowed = promptsAllowed
    }

    /// The same without prompts.
    public var withoutPrompts: CallContext { CallContext(deadline: deadline) }

    /// The same, and nothing but the deadline ends it: for what must not be left half done.
    public var withoutCancellation: CallContext {
        CallContext(deadline: deadline.withoutCancellation, promptsAllowed: promptsAllowed)
    }

    /// The same, but over at `earlier` if that comes first. What cancels it stays.
    public func until(_ earlier: Deadline) -> CallContext {
        CallContext(deadline: deadline.noLater(than: earlier), promptsAllowed: promptsAllowed)
    }
}
