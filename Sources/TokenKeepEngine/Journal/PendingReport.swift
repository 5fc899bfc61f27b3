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
        public let debt: PendingWrite
        /// Whether it is owed on this machine.
        public let isOfThisMachine: Bool
    }

    /// Every debt, in the order of modules and items.
    public let entries: [Entry]
    /// The first thing that could not be read; nil where the report is complete.
    public let problem: TokenKeepError?

    /// Reads what a vault's journal owes. Changes nothing.
    init(_ vault: Vault, machine: MachineID = .current) {
        do throws(TokenKeepError) {
            let owing = try vault.pendingRecords()
            let all = owing.records.values.flatMap { record in
                record.debts.map {
                    Entry(item: record.name, debt: $0, isOfThisMachine: $0.machine == machine.bytes)
                }
            }
            entries = all.sorted(by: PendingReport.precedes)
            problem = owing.problem
        } catch {
            entries = []
            problem = error
        }
    }

    private static func precedes(_ left: Entry, _ right: Entry) -> Bool {
        if left.debt.module != right.debt.module { return left.debt.module < right.debt.module }
        if left.isOfThisMachine != right.isOfThisMachine { return left.isOfThisMachine }
        guard let one = left.item, let other = right.item else { return right.item == nil && left.item != nil }
        return one < other
    }
}
