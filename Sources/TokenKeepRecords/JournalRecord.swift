package import TokenKeepCore
package import TokenKeepKeys

/// The record of an item at the beginning of a change.
package enum JournalEntry: Sendable {
    /// No record.
    case none
    /// A readable record.
    case record(JournalRecord)
    /// An unreadable record, with the reason.
    case unreadable(TokenKeepError)
}

/// The state of a record.
package enum RecordState: UInt8, Sendable {
    /// The item lives in the vault.
    case home = 1
    /// The record has the item's newest value, which a module has not got yet.
    case pending = 2
    /// The item was cleared, but a module may still hold it.
    case tombstone = 3
}

/// One record of the journal, as a change or a load sees it.
package struct JournalRecord: Sendable {
    /// The record's state.
    package var state: RecordState
    /// The pending writes and removals.
    package var pending: [PendingWrite]
    /// The item's details; nil in a tombstone.
    package var details: ItemDetails?
    /// The item's name; nil if the record does not hold it.
    package var name: ItemName?
    /// The reason why the value's details are unreadable: their keys are locked. nil if the details are readable.
    package var locked: TokenKeepError?
    private let openItem: @Sendable () throws(TokenKeepError) -> TokenItem?

    /// A record in the given state.
    ///
    /// - Parameter item: opens the item with its secret; returns nil in a tombstone.
    package init(
        state: RecordState, pending: [PendingWrite] = [], details: ItemDetails? = nil, name: ItemName? = nil,
        locked: TokenKeepError? = nil, item: @escaping @Sendable () throws(TokenKeepError) -> TokenItem?
    ) {
        self.state = state
        self.pending = pending
        self.details = details
        self.name = name ?? details?.name
        self.locked = locked
        self.openItem = item
    }

    /// Whether the record holds a value, readable or locked.
    package var holdsValue: Bool { state != .tombstone }

    /// The details of the value; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` if the details' keys are locked.
    package func openDetails() throws(TokenKeepError) -> ItemDetails? {
        if let locked { throw locked }
        return details
    }

    /// The item with its secret; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` if the item's class key is not open, ``Status/corrupt``.
    package func item() throws(TokenKeepError) -> TokenItem? { try openItem() }

    /// The pending writes before the record's value is replaced, with the present value's fingerprint in flight.
    ///
    /// A process that sent the present value may have ended before it noted the fingerprint.
    package func pendingBeforeChange(_ keys: JournalKeys) -> [PendingWrite] {
        guard pending.contains(where: { $0.kind == .write }), let item = (try? openItem()) ?? nil else {
            return pending
        }
        let fingerprint = keys.fingerprint(of: item.secret)
        return pending.map { $0.kind == .write && $0.hasRoomInFlight ? $0.sending(fingerprint) : $0 }
    }
}

/// The next state of a record.
package enum JournalChange: Sendable {
    /// The record stays unchanged.
    case keep
    /// A value, with its pending writes.
    case value(RecordState, details: ItemDetails, secret: SecretBytes, pending: [PendingWrite])
    /// A tombstone, with its pending removals.
    case tombstone(pending: [PendingWrite])
    /// The record is removed.
    case remove
}
