package import TokenKeepCore
package import TokenKeepKeys

/// The result of reading an item's record at the beginning of a change.
package enum JournalEntry: Sendable {
    /// The item has no record.
    case none
    /// The item's record is readable.
    case record(JournalRecord)
    /// The record exists but cannot be read, because of this error.
    case unreadable(TokenKeepError)
}

/// An item's record: the item's value, if any, and the changes that are pending for modules.
package struct JournalRecord: Sendable {
    /// Whether the record has a value of the item, even a locked value; false if the item was cleared.
    package let holdsValue: Bool
    /// The writes and removals that modules have missed.
    package var pending: [PendingWrite]
    /// The item's details; nil if the item was cleared, or if the keys of the details are locked.
    package var details: ItemDetails?
    /// The item's name; nil if the record does not contain a name.
    package var name: ItemName?
    /// The error to throw when the item's details are needed but their keys are locked; nil if the details are
    /// readable.
    package var locked: TokenKeepError?
    /// The error that reports forged pending writes, which are ignored; nil if there are none.
    package let forgery: TokenKeepError?
    private let openItem: @Sendable () throws(TokenKeepError) -> TokenItem?

    /// Makes the description of a record.
    ///
    /// - Parameter item: opens the item with its secret; returns nil if the item was cleared.
    package init(
        holdsValue: Bool, pending: [PendingWrite] = [], details: ItemDetails? = nil, name: ItemName? = nil,
        locked: TokenKeepError? = nil, forgery: TokenKeepError? = nil,
        item: @escaping @Sendable () throws(TokenKeepError) -> TokenItem?
    ) {
        self.holdsValue = holdsValue
        self.pending = pending
        self.details = details
        self.name = name ?? details?.name
        self.locked = locked
        self.forgery = forgery
        self.openItem = item
    }

    /// Whether the record has neither a value nor pending changes. Such a record only lists sealed copies.
    var isEmpty: Bool { !holdsValue && pending.isEmpty }

    /// The item's details; nil if the item was cleared.
    ///
    /// - Throws: ``Status/locked`` if the keys of the details are locked.
    package func openDetails() throws(TokenKeepError) -> ItemDetails? {
        if let locked { throw locked }
        return details
    }

    /// Opens the item with its secret; returns nil if the item was cleared.
    ///
    /// - Throws: ``Status/locked`` if the key of the item's level is locked, ``Status/corrupt`` if the record is
    ///   damaged.
    package func item() throws(TokenKeepError) -> TokenItem? { try openItem() }

    /// The record's pending changes, with the fingerprint of the current value added to ``PendingWrite/inFlight`` of
    /// each write.
    ///
    /// A process may have sent the current value to the module, and may have been killed before it recorded this.
    package func pendingBeforeChange(_ keys: JournalKeys) -> [PendingWrite] {
        guard pending.contains(where: { $0.kind == .write }), let item = (try? openItem()) ?? nil else {
            return pending
        }
        let fingerprint = keys.fingerprint(of: item.secret)
        return pending.map { $0.kind == .write && $0.hasRoomInFlight ? $0.sending(fingerprint) : $0 }
    }
}

/// The change that a transaction makes to an item's record.
package enum JournalChange: Sendable {
    /// Leaves the item's record unchanged.
    case keep
    /// Writes a record with this value and these pending changes; removes the record if there are neither.
    case parts(value: TokenItem?, pending: [PendingWrite])

    /// Removes the record.
    package static let remove = JournalChange.parts(value: nil, pending: [])

    /// Writes a record of a cleared item with the pending removals; removes the record if there are none.
    package static func cleared(pending: [PendingWrite]) -> JournalChange { .parts(value: nil, pending: pending) }

    /// Whether the record has a value after this change.
    package var hasValue: Bool {
        if case .parts(_?, _) = self { true } else { false }
    }
}
