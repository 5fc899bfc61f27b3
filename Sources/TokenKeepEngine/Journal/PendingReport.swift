public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// What the journal owes to modules, on this machine and on others: for `tokenkeep status`.
public struct PendingReport: Sendable {
    /// Something owed to one module about one item.
    public struct Entry: Sendable {
        /// The item; nil where its record does not say.
        public let item: ItemName?
        /// What is owed, to which module, since when.
        public let part: PendingWrite
        /// Whether it is owed on this machine.
        public let isOfThisMachine: Bool
    }

    /// Every debt, in the order of modules and items.
    public let entries: [Entry]
    /// The first thing that could not be read; nil where the report is complete.
    public let problem: TokenKeepError?

    /// Reads what a vault's journal owes. Changes nothing.
    init(_ records: Records) {
        do throws(TokenKeepError) {
            let found = try records.pendingRecords()
            let machine = records.hash(of: records.machine)
            let all = found.records.values.flatMap { record in
                record.pending.map {
                    Entry(item: record.name, part: $0, isOfThisMachine: $0.machine == machine)
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
        if left.part.module != right.part.module { return left.part.module < right.part.module }
        if left.isOfThisMachine != right.isOfThisMachine { return left.isOfThisMachine }
        guard let one = left.item, let other = right.item else { return right.item == nil && left.item != nil }
        return one < other
    }
}
