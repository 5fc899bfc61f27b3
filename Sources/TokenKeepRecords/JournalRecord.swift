/// The store's own record of where an item's truth is and of what it still owes to modules.
///
/// One record per item, replaced as a whole: value, tombstone and debts together. The module `vault` holds its items as
/// records in the state ``RecordState/home``.
public protocol Journal: Sendable {
    /// The item's record, or nil where there is none. Takes no lock.
    func record(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord?

    /// Changes the item's record while no other process can.
    ///
    /// A record that cannot be read is never lost: a change first gives it a second name.
    ///
    /// - Parameter body: gets what stands there and the journal's keys, and says what follows; it must not prompt.
    /// - Throws: ``Status/busy`` where another process holds the item past the deadline, and what `body` throws.
    func change<Result>(
        _ name: ItemName, _ call: CallContext,
        _ body: (JournalEntry, JournalKeys) throws(TokenKeepError) -> (JournalChange, Result)
    ) throws(TokenKeepError) -> Result
}

/// What the journal makes versions and fingerprints with.
public struct JournalKeys: Sendable {
    /// Makes item versions.
    public let versions: ItemVersionKey
    private let fingerprints: SecretBytes

    /// Uses a version key and a fingerprint key of 32 bytes.
    public init(versions: ItemVersionKey, fingerprints: SecretBytes) {
        self.versions = versions
        self.fingerprints = fingerprints
    }

    /// A keyed fingerprint of a value, 16 bytes: tells whether two places hold the same without keeping either.
    public func fingerprint(of secret: SecretBytes) -> [UInt8] {
        secret.withUnsafeBytes { secret in
            fingerprints.withUnsafeBytes { KeyedHash.digest(of: secret, key: $0, count: 16) }
        }
    }
}

/// What a change finds in a record's place.
public enum JournalEntry: Sendable {
    /// Nothing.
    case none
    /// A record.
    case record(JournalRecord)
    /// Something that cannot be read, and why.
    case unreadable(TokenKeepError)
}

/// What stands in a record.
public enum RecordState: UInt8, Sendable {
    /// The item lives here: it is the vault's.
    case home = 1
    /// The item's newest value, not yet in the module that it belongs to.
    case owed = 2
    /// The item was cleared; some module may still hold it.
    case tombstone = 3
}

/// One record of the journal.
public struct JournalRecord: Sendable {
    /// What stands in it.
    public var state: RecordState
    /// What is owed to modules.
    public var debts: [Debt]
    /// The item's details; nil in a tombstone.
    public var details: ItemDetails?
    /// The item's name, where the record holds it: a tombstone of an earlier version need not.
    public var name: ItemName?
    /// Why the details cannot be read though there is a value: its keys are locked.
    public var locked: TokenKeepError?
    private let openItem: @Sendable () throws(TokenKeepError) -> TokenItem?

    /// A record in `state`.
    ///
    /// - Parameter item: opens the item with its secret; nil in a tombstone.
    public init(
        state: RecordState, debts: [Debt] = [], details: ItemDetails? = nil, name: ItemName? = nil,
        locked: TokenKeepError? = nil, item: @escaping @Sendable () throws(TokenKeepError) -> TokenItem?
    ) {
        self.state = state
        self.debts = debts
        self.details = details
        self.name = name ?? details?.name
        self.locked = locked
        self.openItem = item
    }

    /// Whether it holds a value, which may be locked.
    public var holdsValue: Bool { state != .tombstone }

    /// The details of the value, for what must know them; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` where they cannot be read.
    public func openDetails() throws(TokenKeepError) -> ItemDetails? {
        if let locked { throw locked }
        return details
    }

    /// The item with its secret; nil in a tombstone.
    ///
    /// - Throws: ``Status/locked`` where its class key is not there, ``Status/corrupt``.
    public func item() throws(TokenKeepError) -> TokenItem? { try openItem() }

    /// The debts, before the record's value goes. The value may be on its way to a module: whoever sent it may have
    /// ended before that could be noted. What is known to have been sent is not given up for it.
    public func debtsBeforeChange(_ keys: JournalKeys) -> [Debt] {
        guard debts.contains(where: { $0.kind == .put }), let item = (try? openItem()) ?? nil else { return debts }
        let fingerprint = keys.fingerprint(of: item.secret)
        return debts.map { $0.kind == .put && $0.hasRoomInFlight ? $0.sending(fingerprint) : $0 }
    }
}

/// What a change makes of a record.
public enum JournalChange: Sendable {
    /// It stays as it is.
    case keep
    /// A value in the state home or owed, with what it owes.
    case value(RecordState, details: ItemDetails, secret: SecretBytes, debts: [Debt])
    /// A tombstone, with what it owes.
    case tombstone(debts: [Debt])
    /// No record at all.
    case remove
}

/// Something owed to a module on one machine: to put the record's value there, or to delete the item there.
public struct Debt: Sendable, Equatable {
    /// What is owed.
    public enum Kind: UInt8, Sendable {
        /// The module must get the record's value.
        case put = 1
        /// The module must lose the item.
        case delete = 2
    }

    /// The module's name.
    public var module: String
    /// The machine on which it is owed: 16 bytes of `/etc/machine-id`.
    public var machine: [UInt8]
    /// What is owed.
    public var kind: Kind
    /// Since when.
    public var since: UnixTime
    /// A keyed fingerprint (16 bytes) of the module's value as last seen; nil where it was absent or is unknown.
    public var base: [UInt8]?
    /// Keyed fingerprints (16 bytes each) of values that were sent and not acknowledged.
    public var inFlight: [[UInt8]]

    /// Describes a debt.
    public init(
        module: String, machine: [UInt8], kind: Kind, since: UnixTime, base: [UInt8]? = nil, inFlight: [[UInt8]] = []
    ) {
        self.module = module
        self.machine = machine
        self.kind = kind
        self.since = since
        self.base = base
        self.inFlight = inFlight
    }

    private static let maximumInFlight = 16

    /// Whether another value can be noted without giving up one.
    public var hasRoomInFlight: Bool { inFlight.count < Debt.maximumInFlight }

    /// The same with a value's fingerprint noted that was sent and may have arrived.
    public func sending(_ fingerprint: [UInt8]) -> Debt {
        guard !inFlight.contains(fingerprint) else { return self }
        var debt = self
        debt.inFlight = inFlight.suffix(Debt.maximumInFlight - 1) + [fingerprint]
        return debt
    }

    /// What a debt becomes when its item changes now: what another program changed earlier is older.
    public var renewed: Debt { renewed(at: .now) }

    /// The same, at a time of the caller's clock.
    public func renewed(at time: UnixTime) -> Debt {
        var debt = self
        debt.since = time
        return debt
    }

    /// What a debt becomes when its item is cleared: the module must lose the item.
    public var ofDeletion: Debt {
        var debt = self
        debt.kind = .delete
        return debt
    }
}
