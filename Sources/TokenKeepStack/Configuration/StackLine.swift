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
    }

    /// What a module's failure means for the walk.
    public enum Control: String, Sendable, CaseIterable {
        /// It counts, and the walk goes on.
        case required
        /// It counts, and the walk ends.
        case requisite
        /// It counts, and the walk goes on; the word stands where another module follows.
        case sufficient
        /// It does not count.
        case optional
    }

    /// What the line applies to.
    public let operation: Operation
    /// What a failure means.
    public let control: Control
    /// The module's name.
    public let module: String
    /// The module's arguments, as they stand.
    public let arguments: [String]

    /// Whether the line applies to `operation`.
    public func applies(to operation: Operation) -> Bool {
        self.operation == .any || self.operation == operation
    }
}
