package import TokenKeepCore
import TokenKeepKeys

/// The records that have pending writes or removals.
package struct PendingRecords: Sendable {
    /// The records with pending changes, by file name (16 bytes).
    ///
    /// Each record has the item's value, or says that the item was cleared.
    package private(set) var records: [[UInt8]: JournalRecord] = [:]
    /// The error of the first record that is unreadable or locked, or has a forged pending write; nil if there is none.
    package private(set) var problem: TokenKeepError?
    /// The number of unreadable records, without records whose keys are locked.
    package private(set) var unreadable = 0
    private var keys: KeyRing?

    /// The record of an item; nil if nothing is pending for the item.
    package func record(of name: ItemName) -> JournalRecord? {
        keys.flatMap { records[$0.fileName(of: name)] }
    }

    init() {}

    init(_ records: Records, _ vault: inout OpenVault) throws(TokenKeepError) {
        keys = vault.keys
        for name in try PendingHints(vault.era).all() {
            let reader = RecordReader(records: records, fileName: name)
            switch try reader.read(&vault, { file, state throws(FormatFault) in try file.journalRecord(state) }) {
            case nil: continue
            case .failure(let fault):
                problem = problem ?? reader.error(fault)
                unreadable += 1
            case .success(let record) where record.pending.isEmpty: problem = problem ?? record.forgery
            case .success(let record):
                problem = problem ?? record.forgery
                self.records[name] = record
                problem = problem ?? record.locked
            }
        }
    }
}
