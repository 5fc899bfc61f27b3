package import TokenKeepCore
package import TokenKeepKeys

/// A record's place, as a change finds it.
package enum JournalEntry: Sendable {
    /// Nothing.
    case none
    /// A record.
    case record(JournalRecord)
    /// Bytes that cannot be read, with the reason.
    case unreadable(TokenKeepError)
}

/// The state of a record.
package enum RecordState: UInt8, Sendable {
    /// The item lives in the vault.
    case home = 1
    /// The record has the item's newest value; a module has not got it yet.
    case pending = 2
    /// The item was cleared; a module may still hold it.
    case tombstone = 3
}

/// One record of the journal.
package struct JournalRecord: Sendable {
    /// Its state.
    package var state: RecordState
    /// The pending writes and removals.
    package var pending: [PendingWrite]
    /// The item's details; nil in a tombstone.
    package var details: ItemDetails?
    /// The item's name; nil if the record does not hold it.
    package var name: ItemName?
    /// Why the details of a value cannot be read: its keys are locked.
    package var locked: TokenKeepError?
    private let openItem: @Sendable () throws(TokenKeepError) -> TokenItem?

    /// A record in `state`.
    ///
    /// - Parameter item: opens the item with its secret; nil in a tombstone.
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

    /// Whether it holds a value, which may be locked.
    package var holdsValue: Bool { state != .tombstone }

    /// The details of the value, for what must know them; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` where they cannot be read.
    package func openDetails() throws(TokenKeepError) -> ItemDetails? {
        if let locked { throw locked }
        return details
    }

    /// The item with its secret; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` where its class key is not there, ``Status/corrupt``.
    package func item() throws(TokenKeepError) -> TokenItem? { try openItem() }

    /// The pending writes, before the record's value is replaced, with its fingerprint in flight: a process that sent the
    /// value may have ended before it noted that.
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
    /// It stays as it is.
    case keep
    /// A value, with its pending writes.
    case value(RecordState, details: ItemDetails, secret: SecretBytes, pending: [PendingWrite])
    /// A tombstone, with its pending removals.
    case tombstone(pending: [PendingWrite])
    /// No record at all.
    case remove
}
