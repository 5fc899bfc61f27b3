public import TokenKeepCore

/// The moved items of a migration, and the failures.
public struct MigrationOutcome: Sendable {
    /// A failure to move an item, or to read a list of items.
    public struct Failure: Sendable {
        /// The item; nil if the failure does not concern a single item.
        public let item: ItemName?
        /// The error of moving the item, or of reading the list.
        public let error: TokenKeepError
    }

    /// The names of the moved items, sorted; in a dry run, of the items that would be moved.
    public internal(set) var items: [ItemName] = []
    /// The number of moved items; in a dry run, of the items that would be moved.
    public var moved: Int { items.count }
    /// The items that were not moved, and the errors.
    public internal(set) var failures: [Failure] = []

    /// The worst failure, in the order in which a load ranks failures; nil if there is none.
    public var worst: TokenKeepError? {
        failures.map(\.error).min { FailurePrecedence.rank($0.status) < FailurePrecedence.rank($1.status) }
    }
}
