/// One line of a stack: an operation, an action for each status, a module and the module's arguments.
public struct StackLine: Sendable, Equatable {
    /// The operation to which a line applies.
    public enum Operation: String, Sendable, CaseIterable {
        /// Loading an item.
        case load
        /// Saving an item.
        case save
        /// Clearing an item.
        case clear
        /// Listing items.
        case list
        /// The line applies to any of the four operations.
        case any

        /// The four operations of a store, without ``any``.
        package static let each: [Operation] = [.load, .save, .clear, .list]
    }

    /// The action for each status of the module's answer, given by a control word or status by status.
    ///
    /// A control word (`required`, `sufficient`, …) means different actions in each operation. See ``actions(for:)``.
    public struct Control: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case word(ControlWord)
            case actions(StackActions)
        }

        let kind: Kind

        /// A failure of the module can become the operation's result. The operation continues with the next module.
        public static let required = Control(kind: .word(.required))
        /// A failure of the module becomes the operation's result and ends the operation, except for a `clear`.
        public static let requisite = Control(kind: .word(.requisite))
        /// Means the same as ``required``. Customary for a module that is not the last one of its stack.
        public static let sufficient = Control(kind: .word(.sufficient))
        /// A failure of the module is ignored.
        public static let optional = Control(kind: .word(.optional))

        /// The actions for one operation, which must not be ``Operation/any``.
        package func actions(for operation: Operation) -> StackActions {
            switch kind {
            case .word(let word): word.actions(for: operation)
            case .actions(let actions): actions.naming(success: ControlWord.success(of: operation))
            }
        }
    }

    /// The operation to which the line applies.
    public let operation: Operation
    /// The action for each status of the module's answer.
    public let control: Control
    /// The module's name.
    public let module: String
    /// The module's arguments, as written in the stack.
    public let arguments: [String]
    /// Whether the line is skipped if the module is missing or its file cannot be loaded.
    public let mayBeMissing: Bool
    /// The file and line number of the line.
    public let place: StackPlace

    /// Whether the line applies to `operation`.
    public func applies(to operation: Operation) -> Bool {
        self.operation == .any || self.operation == operation
    }
}

/// The file and number of a line in a stack.
public struct StackPlace: Sendable, Equatable, CustomStringConvertible {
    /// The path of the stack's file; for a stack given as text, the name of the text in messages.
    public let source: String
    /// The line number, from 1.
    public let line: Int

    /// The place as text: `FILE:LINE`.
    public var description: String { "\(source):\(line)" }
}
