public import TokenKeepCore

/// The outcome of a migration.
public struct MigrationOutcome: Sendable {
    /// A failure to move an item, or to read a list of items.
    public struct Failure: Sendable {
        /// The item; nil if the failure concerns no single item.
        public let item: ItemName?
        /// The error.
        public let error: TokenKeepError
    }

    /// The number of moved items; in a dry run, the number of items that would be moved.
    public internal(set) var moved = 0
    /// The items that were not moved, and the errors.
    public internal(set) var failures: [Failure] = []

    /// The worst failure, by the precedence of a load's failures; nil if there is no failure.
    public var worst: TokenKeepError? {
        failures.map(\.error).min { FailurePrecedence.rank($0.status) < FailurePrecedence.rank($1.status) }
    }
}
