/// One line of a stack: an operation, a control for the answer, a module and its arguments.
public struct StackLine: Sendable, Equatable {
    /// The operation that a line applies to.
    public enum Operation: String, Sendable, CaseIterable {
        /// Loading an item.
        case load
        /// Saving an item.
        case save
        /// Clearing an item.
        case clear
        /// Listing items.
        case list
        /// All four operations.
        case any

        /// The four operations of a store.
        package static let each: [Operation] = [.load, .save, .clear, .list]
    }

    /// The effect of a module's answer on the walk: a word, or an action for each status.
    ///
    /// A control word (`required`, `sufficient`, …) stands for other actions in each operation: ``actions(for:)``.
    public struct Control: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case word(ControlWord)
            case actions(StackActions)
        }

        let kind: Kind

        /// A failure counts, and the walk goes on.
        public static let required = Control(kind: .word(.required))
        /// A failure becomes the operation's result and ends the walk. A `clear` goes on, to visit every module.
        public static let requisite = Control(kind: .word(.requisite))
        /// Means the same as ``required``; written if another module follows.
        public static let sufficient = Control(kind: .word(.sufficient))
        /// A failure does not count.
        public static let optional = Control(kind: .word(.optional))

        /// The actions for one operation, not ``Operation/any``.
        package func actions(for operation: Operation) -> StackActions {
            switch kind {
            case .word(let word): word.actions(for: operation)
            case .actions(let actions): actions.naming(success: ControlWord.success(of: operation))
            }
        }
    }

    /// The operation that the line applies to.
    public let operation: Operation
    /// The effect of the module's answer on the walk.
    public let control: Control
    /// The module's name.
    public let module: String
    /// The module's arguments, unchanged from the text.
    public let arguments: [String]
    /// Whether the line is skipped if its module cannot be loaded.
    public let mayBeMissing: Bool
    /// The place of the line.
    public let place: StackPlace

    /// Whether the line applies to `operation`.
    public func applies(to operation: Operation) -> Bool {
        self.operation == .any || self.operation == operation
    }
}

/// A place in a stack: `FILE:LINE`.
public struct StackPlace: Sendable, Equatable, CustomStringConvertible {
    /// The file's path, or the name of the text in messages.
    public let source: String
    /// The line number, from 1.
    public let line: Int

    /// `FILE:LINE`.
    public var description: String { "\(source):\(line)" }
}
