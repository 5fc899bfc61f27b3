public import TokenKeepCore

/// What a migration came to.
public struct MigrationOutcome: Sendable {
    /// Why an item stays where it is, or something could not be read.
    public struct Failure: Sendable {
        /// The item; nil where it is not known which.
        public let item: ItemName?
        /// What happened.
        public let error: TokenKeepError
    }

    /// How many items were moved; of a dry run, how many would be.
    public internal(set) var moved = 0
    /// What was left, and why.
    public internal(set) var failures: [Failure] = []

    /// The worst failure, by the precedence of failures that a load has; nil where nothing was left.
    public var worst: TokenKeepError? {
        failures.map(\.error).min { FailurePrecedence.rank($0.status) < FailurePrecedence.rank($1.status) }
    }
}
