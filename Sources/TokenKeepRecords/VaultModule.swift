public import TokenKeepCore
import TokenKeepKeys

/// The module `vault`, which keeps items in the vault's encrypted records.
///
/// A record with a value counts as an item of the module, even while writes are pending. The record of a cleared item
/// does not count.
public final class VaultModule: BasicModule {
    /// The module's name, `vault`.
    public let name = "vault"
    /// True: the vault's records are the module's items.
    public let holdsRecords = true
    private let records: Records

    /// Makes the module `vault`, whose items are kept in `records`.
    package init(_ records: Records) { self.records = records }

    /// Loads the item with its secret from its record.
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        do throws(TokenKeepError) {
            if let item = try records.item(name, call) { return item }
        } catch {
            throw error.of(name)
        }
        throw TokenKeepError(.notFound, "no item \(name)", module: self.name)
    }

    /// Saves an item in its record, and returns the item's version.
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        do throws(TokenKeepError) {
            var item = try records.begin(request.name, call)
            if let problem = item.entry.problem, request.precondition != .none { throw problem }
            let present = item.entry.record
            let before = try present?.openDetails()
            try request.check(present: before)
            var details = request.details(replacing: before, module: name)
            details.version = item.keys.versions.version(of: details, secret: request.secret)
            let pending = (present?.pendingBeforeChange(item.keys) ?? []).map(\.renewed)
            let value = TokenItem(details: details, secret: request.secret)
            try item.apply(.parts(value: value, pending: pending))
            return details.version
        } catch {
            throw error.of(request.name)
        }
    }

    /// Clears an item's record. Returns whether the item existed.
    public func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            guard try records.open() != nil else {
                try SaveRequest.check(version: version, of: name, present: nil)
                return false
            }
            return try clearRecord(name, ifVersion: version, call)
        } catch {
            throw error.of(name)
        }
    }

    private func clearRecord(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        var item: ItemTransaction
        do throws(TokenKeepError) {
            item = try records.begin(name, call)
        } catch {
            guard version == nil, hasNothing(name, error, call) else { throw error }
            return false
        }
        if let version {
            if let problem = item.entry.problem { throw problem }
            try SaveRequest.check(version: version, of: name, present: item.entry.record?.openDetails())
        }
        return try item.clear()
    }

    /// Whether a clear may succeed although the vault cannot be written: the vault has no record of the item, so
    /// nothing must be removed.
    private func hasNothing(_ name: ItemName, _ error: TokenKeepError, _ call: CallContext) -> Bool {
        guard error.status == .io || error.status == .denied else { return false }
        do throws(TokenKeepError) {
            return try records.record(of: name, call) == nil
        } catch {
            return false
        }
    }

    /// Lists the items of a namespace, without their secrets.
    public func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        records.opener.residentKeys.removal.dropKeysOfLostVaults()
        var listing = try records.allItems(call)
        listing.items.removeAll { !$0.name.isIn(namespace: namespace, service: service) }
        return listing
    }

    /// The protection that the vault currently gives an item; nil if the vault cannot be read.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        guard let vault = try? records.open() as OpenVault?? else { return nil }
        return VaultProtection(vault, records.opener.residentKeys).protection(of: level, flags)
    }

    /// Describes the vault's condition for the user.
    public func report(_ call: CallContext) -> ModuleReport {
        let place = (try? records.opener.path()) ?? "unknown"
        do throws(TokenKeepError) {
            return ModuleReport(module: name, place: place, remarks: try VaultCondition(records: records).remarks())
        } catch {
            return ModuleReport(module: name, problem: error, place: place)
        }
    }
}

extension ItemTransaction {
    /// Clears the item's record. A pending write to a module becomes a pending removal.
    ///
    /// - Returns: whether the item existed.
    package mutating func clear() throws(TokenKeepError) -> Bool {
        let (change, wasThere): (JournalChange, Bool) =
            switch entry {
            // Remove even a missing record, because an earlier removal may not have become durable.
            case .none: (.remove, false)
            case .unreadable: (.remove, true)
            case .record(let record) where !record.holdsValue: (.cleared(pending: record.pending), false)
            case .record(let record):
                (.cleared(pending: record.pendingBeforeChange(keys).map(\.ofRemoval.renewed)), true)
            }
        try apply(change)
        return wasThere
    }
}

extension JournalEntry {
    /// The item's record; nil if the record is missing or cannot be read.
    package var record: JournalRecord? {
        guard case .record(let record) = self else { return nil }
        return record
    }

    /// The error that makes the record unreadable; nil if the record is readable or missing.
    package var problem: TokenKeepError? {
        guard case .unreadable(let error) = self else { return nil }
        return error
    }
}
