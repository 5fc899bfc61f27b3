/// One line of a stack: for which operations a module is asked, what its answer is worth, and its arguments.
public struct StackLine: Sendable, Equatable {
    /// What a line applies to.
    public enum Operation: String, Sendable, CaseIterable {
        /// Loading an item.
        case load
        /// Saving an item.
        case save
        /// Clearing an item.
        case clear
        /// Listing items.
        case list
        /// All of them.
        case any

        /// The four that a store does.
        package static let each: [Operation] = [.load, .save, .clear, .list]
    }

    /// What a module's answer means for the walk: a word, or an action for each status.
    ///
    /// What a word comes to depends on the operation: ``actions(for:)``.
    public struct Control: Sendable, Equatable {
        enum Kind: Sendable, Equatable {
            case word(ControlWord)
            case actions(StackActions)
        }

        let kind: Kind

        /// A failure counts, and the walk goes on.
        public static let required = Control(kind: .word(.required))
        /// A failure counts and ends the walk, but for clearing, which visits every module.
        public static let requisite = Control(kind: .word(.requisite))
        /// As ``required``; the word stands where another module follows.
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

    /// What the line applies to.
    public let operation: Operation
    /// What an answer means.
    public let control: Control
    /// The module's name.
    public let module: String
    /// The module's arguments, as they stand.
    public let arguments: [String]
    /// Whether the line is passed over where its module cannot be loaded.
    public let mayBeMissing: Bool
    /// Where the line stands.
    public let place: StackPlace

    /// Whether the line applies to `operation`.
    public func applies(to operation: Operation) -> Bool {
        self.operation == .any || self.operation == operation
    }
}

/// Where something stands: `FILE:LINE`.
public struct StackPlace: Sendable, Equatable, CustomStringConvertible {
    /// The file's path, or what the text is called.
    public let source: String
    /// The line, from 1.
    public let line: Int

    /// `FILE:LINE`.
    public var description: String { "\(source):\(line)" }
}
