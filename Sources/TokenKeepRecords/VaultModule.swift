public import TokenKeepCore

/// The module `vault`: items that live in the vault's records.
///
/// A record that is owed to another module reads as an item here; a tombstone reads as none. What they owe stays.
public final class VaultModule: Module {
    /// `vault`.
    public let name = "vault"
    /// Yes.
    public let holdsRecords = true
    private let vault: Vault

    /// Keeps items in `vault`.
    public init(vault: Vault) { self.vault = vault }

    /// See ``Module``.
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        do throws(TokenKeepError) {
            if let item = try vault.item(name, call) { return item }
        } catch {
            throw error.of(name)
        }
        throw TokenKeepError(.notFound, "no item \(name)", module: self.name)
    }

    /// See ``Module``.
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        do throws(TokenKeepError) {
            return try vault.change(request.name, call) { entry, keys throws(TokenKeepError) in
                if case .unreadable(let error) = entry, request.precondition != .none { throw error }
                let present = entry.record
                let before = try present?.openDetails()
                try request.check(present: before)
                var details = request.details(replacing: before, module: name)
                details.version = keys.versions.version(of: details, secret: request.secret)
                let debts = (present?.debtsBeforeChange(keys) ?? []).map(\.renewed)
                let state: RecordState = debts.isEmpty ? .home : .owed
                return (.value(state, details: details, secret: request.secret, debts: debts), details.version)
            }
        } catch {
            throw error.of(request.name)
        }
    }

    /// See ``Module``.
    public func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        var isEntered = false
        do throws(TokenKeepError) {
            guard try vault.open() != nil else {
                if let version { try SaveRequest.check(version: version, of: name, present: nil) }
                return false
            }
            return try vault.change(name, call) { entry, keys throws(TokenKeepError) in
                isEntered = true
                if let version {
                    if case .unreadable(let error) = entry { throw error }
                    try SaveRequest.check(version: version, of: name, present: entry.record?.openDetails())
                }
                return VaultModule.clearing(entry, keys)
            }
        } catch {
            guard !isEntered, version == nil, hasNothing(name, error, call) else { throw error.of(name) }
            return false
        }
    }

    /// Whether there is nothing to remove from a vault that takes no change.
    private func hasNothing(_ name: ItemName, _ error: TokenKeepError, _ call: CallContext) -> Bool {
        guard error.status == .io || error.status == .denied else { return false }
        do throws(TokenKeepError) {
            return try vault.record(of: name, call) == nil
        } catch {
            return false
        }
    }

    /// What a clear makes of a record: what it owed to modules becomes that they must lose the item.
    static func clearing(_ entry: JournalEntry, _ keys: JournalKeys) -> (JournalChange, Bool) {
        switch entry {
        // Nothing to remove is made durable too: an earlier removal may have been cut short.
        case .none: return (.remove, false)
        case .unreadable: return (.remove, true)
        case .record(let record) where record.state == .tombstone: return (.tombstone(debts: record.debts), false)
        case .record(let record) where record.debts.isEmpty: return (.remove, true)
        case .record(let record):
            return (.tombstone(debts: record.debtsBeforeChange(keys).map(\.ofDeletion.renewed)), true)
        }
    }

    /// See ``Module``.
    public func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        var listing = try vault.allItems(call)
        listing.items.removeAll { !$0.name.isIn(namespace: namespace, service: service) }
        return listing
    }

    /// As the vault is now; nothing where it cannot be read.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        try? vault.protection(of: level, flags)
    }

    /// See ``Module``.
    public func report(_ call: CallContext) -> ModuleReport {
        let place = (try? vault.path()) ?? "unknown"
        do throws(TokenKeepError) {
            return ModuleReport(module: name, place: place, notes: try vault.condition())
        } catch {
            return ModuleReport(module: name, problem: error, place: place)
        }
    }
}

extension JournalEntry {
    /// The record, where it could be read.
    package var record: JournalRecord? {
        guard case .record(let record) = self else { return nil }
        return record
    }
}

extension TokenKeepError {
    /// The same error, said to be about an item, where its words do not name it.
    fileprivate func of(_ name: ItemName) -> TokenKeepError {
        let words = message.utf8
        // String.contains would link the regular expressions into the library: 1.3 MB.
        let namesIt = words.indices.contains { words[$0...].starts(with: name.description.utf8) }
        guard !namesIt else { return inModule("vault") }
        return TokenKeepError(status, "\(name): \(message)", module: module ?? "vault", hint: hint)
    }
}
