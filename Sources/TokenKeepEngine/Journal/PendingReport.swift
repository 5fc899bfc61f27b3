public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The writes and removals that are pending for modules on any machine, for `tokenkeep status`.
public struct PendingReport: Sendable {
    /// A pending change for one module: the change of one item, or the removal of one service.
    public struct Entry: Sendable {
        /// The item's name, or the name of the record of a pending service removal; nil if the record contains no name.
        public let item: ItemName?
        /// The module that missed the change.
        public let module: String
        /// Whether the change is a removal. If false, the change is a write.
        public let isRemoval: Bool
        /// The time at which the change was made.
        public let since: UnixTime
        /// Whether the change is pending for the module on this machine.
        public let isOfThisMachine: Bool
        let part: PendingWrite

        /// Whether the change is the removal of all items of a service.
        package var isOfService: Bool { item?.removedService != nil }
    }

    /// The pending changes, sorted by module, then by item.
    public let entries: [Entry]
    /// The first failure to read a record; nil if every record was read.
    public let problem: TokenKeepError?

    /// Reads the pending changes from the records, without changing them.
    init(_ records: Records) {
        do throws(TokenKeepError) {
            let found = try records.journal.pendingRecords()
            let machine = records.hash(of: records.machine)
            let all = found.records.values.flatMap { record in
                record.pending.map {
                    Entry(
                        item: record.name, module: $0.module, isRemoval: $0.kind == .remove, since: $0.since,
                        isOfThisMachine: $0.machine == machine, part: $0)
                }
            }
            entries = all.sorted(by: PendingReport.precedes)
            problem = found.problem
        } catch {
            entries = []
            problem = error
        }
    }

    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        if left.module != right.module { return left.module < right.module }
        if left.isOfThisMachine != right.isOfThisMachine { return left.isOfThisMachine }
        guard let one = left.item, let other = right.item else { return right.item == nil && left.item != nil }
        return one < other
    }
}
