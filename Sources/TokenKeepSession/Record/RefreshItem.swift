import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// A refresh token at a stricter level than its session: the secret of an item of its own (docs/format.md, section 11).
///
/// It is written before the session's record. While a sign-in is written, it has the token of the earlier sign-in too:
/// whichever record a crash leaves, its refresh token is there.
struct RefreshItem {
    /// The service of these items. The account is the ID of the session's name.
    static let service = "org.tokenkeep.session.refresh"
    private static let versionMember = "tokenkeep_refresh"

    /// The refresh token of one sign-in.
    struct Entry {
        let epoch: String
        /// The generation whose answer had the token.
        let generation: UInt64
        let token: SecretBytes
        /// The provider to which the token goes; nil for none.
        let provider: String?
        /// The level of the item from which the entry was read; nil for an entry that was not read.
        fileprivate(set) var level: AccessLevel?

        init(epoch: String, generation: UInt64, token: SecretBytes, provider: String?) {
            self.epoch = epoch
            self.generation = generation
            self.token = token
            self.provider = provider
        }

        fileprivate init?(_ json: JSONValue) throws(TokenKeepError) {
            guard let epoch = json["epoch"]?.text, !epoch.isEmpty, let token = try json["refresh_token"]?.secret(),
                TokenResponse.isToken(token)
            else { return nil }
            self.init(
                epoch: epoch, generation: UInt64(clamping: json["generation"]?.integer ?? 0), token: token,
                provider: json["provider"]?.text)
        }

        fileprivate func write(to json: JSONValue) throws(TokenKeepError) {
            try json.set("epoch", epoch)
            try json.set("generation", Int64(clamping: generation))
            try json.set("refresh_token", token)
            if let provider { try json.set("provider", provider) }
        }
    }

    let entry: Entry
    let previous: Entry?
    /// The level of the item that was read; nil for an item that is to be written.
    fileprivate(set) var level: AccessLevel?

    init(_ entry: Entry, previous: Entry? = nil) {
        self.entry = entry
        self.previous = previous
    }

    /// Reads the secret of an item.
    ///
    /// - Throws: ``Status/corrupt`` if it is none, ``Status/unsupported`` if a later version wrote it.
    init(_ secret: SecretBytes) throws(TokenKeepError) {
        guard let json = secret.withUnsafeBytes({ JSONValue(parsing: $0) }),
            let version = json[RefreshItem.versionMember]?.integer
        else { throw RefreshItem.damaged }
        guard version == 1 else {
            throw TokenKeepError(.unsupported, "a later TokenKeep wrote the refresh token", hint: "upgrade TokenKeep")
        }
        guard let entry = try Entry(json) else { throw RefreshItem.damaged }
        self.entry = entry
        previous = try json["previous"].flatMap { json throws(TokenKeepError) in try Entry(json) }
    }

    /// The token of a sign-in; nil if the item has none.
    func entry(of epoch: String?) -> Entry? {
        guard var found = [entry, previous].compactMap({ $0 }).first(where: { $0.epoch == epoch }) else { return nil }
        found.level = level
        return found
    }

    func serialized() throws(TokenKeepError) -> SecretBytes {
        let json = try JSONValue.object()
        try json.set(RefreshItem.versionMember, 1)
        try entry.write(to: json)
        if let previous {
            let earlier = try JSONValue.object()
            try previous.write(to: earlier)
            try json.set("previous", earlier)
        }
        return try json.serialized()
    }

    fileprivate static let damaged = TokenKeepError(
        .corrupt, "the item of the refresh token is damaged", hint: "nothing was deleted; sign in again")
}

extension Session {
    /// The name of the item that has the refresh token of a session with one.
    private func refreshName(_ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: name.namespace, service: RefreshItem.service, account: account)
    }

    /// The accounts that the item of the refresh token may have: the ID of the session's name, the same in every era, and
    /// another one. A sign-in takes the other one if an item is there that cannot be read.
    private var refreshAccounts: [String] {
        let id = Hexadecimal.text(id)
        return [id, id + "-2"]
    }

    /// The accounts whose items may be there.
    func refreshAccounts(_ note: SessionNote) -> [String] { refreshAccounts(note.refreshItems) }

    private func refreshAccounts(_ bits: UInt8) -> [String] {
        refreshAccounts.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
    }

    /// The bit of an account in ``SessionNote/refreshItems``; 0 for another item's account.
    func refreshItemBit(_ account: String?) -> UInt8 {
        account.flatMap { refreshAccounts.firstIndex(of: $0) }.map { 1 << UInt8($0) } ?? 0
    }

    /// The item with the refresh token; nil if there is none.
    func refreshItem(_ account: String, _ call: CallContext) throws(TokenKeepError) -> RefreshItem? {
        do throws(TokenKeepError) {
            return try load(refreshName(account), call).map { item throws(TokenKeepError) in
                var found = try RefreshItem(item.secret)
                found.level = item.details.accessLevel
                return found
            }
        } catch {
            throw TokenKeepError(
                error.status, "the refresh token of \(name) cannot be read: \(error.message)", module: error.module,
                hint: error.hint)
        }
    }

    /// The record with its refresh token, which may be an item of its own.
    ///
    /// - Throws: the reason why that item cannot be read, ``Status/locked`` among others.
    func joined(_ record: SessionRecord, _ call: CallContext) throws(TokenKeepError) -> SessionRecord {
        guard record.refreshToken == nil, let account = record.refreshItem,
            let entry = try refreshItem(account, call)?.entry(of: record.epoch)
        else { return record }
        var joined = record
        joined.join(entry)
        return joined
    }

    /// The place for the refresh token of another sign-in.
    struct RefreshPlace {
        let account: String
        /// The token that its item has for the present sign-in; nil if it has none.
        let previous: RefreshItem.Entry?
    }

    /// Finds the place for the refresh token of another sign-in: the item of the present one, or the account of no item
    /// that cannot be read.
    ///
    /// - Parameter needsPresent: whether an item that cannot be read is an error. A damaged item never is one; an item of
    ///   a later TokenKeep always is.
    /// - Throws: the reason why a present item cannot be read, or why both cannot.
    func refreshPlace(
        _ note: SessionNote, needsPresent: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> RefreshPlace {
        var free = refreshAccounts
        var problem: TokenKeepError?
        for account in refreshAccounts(note) {
            do throws(TokenKeepError) {
                guard let entry = try refreshItem(account, call)?.entry(of: note.epoch) else { continue }
                return RefreshPlace(account: account, previous: entry)
            } catch {
                guard error.status != .unsupported, !needsPresent || error.status == .corrupt else { throw error }
                problem = error
                free.removeAll { $0 == account }
            }
        }
        if let account = free.first { return RefreshPlace(account: account, previous: nil) }
        throw problem ?? RefreshItem.damaged
    }

    /// The refresh token of a sign-in whose record is cleared; nil if no item has it.
    ///
    /// - Throws: the reason why an item that may have it cannot be read.
    func refreshEntry(
        of epoch: String, _ note: SessionNote, _ call: CallContext
    ) throws(TokenKeepError) -> RefreshItem.Entry? {
        var problem: TokenKeepError?
        for account in refreshAccounts(note) {
            do throws(TokenKeepError) {
                if let entry = try refreshItem(account, call)?.entry(of: epoch) { return entry }
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return nil
    }

    /// Saves the refresh token of a record as the item that the record names. Called before the record is saved.
    ///
    /// - Parameter level: nil for the level that the record names: an item that is gone must not come back weaker.
    func saveRefreshToken(
        of record: SessionRecord, level: AccessLevel?, previous: RefreshItem.Entry?, _ call: CallContext
    ) throws(TokenKeepError) {
        guard let account = record.refreshItem, let entry = try record.ownRefreshEntry() else { return }
        let outcome = try save(
            RefreshItem(entry, previous: previous).serialized(), as: refreshName(account),
            level: level ?? AccessLevel(rawValue: record.refreshLevel),
            label: "refresh token of \(name.defaultLabel)", call)
        options.explain?("saved the refresh token as an item of its own in \(outcome.module)")
    }

    /// Clears the items of accounts, and notes that they are not there.
    func dropRefreshItems(_ accounts: [String], _ call: CallContext) throws(TokenKeepError) {
        for account in accounts { try store.withoutPrompts.clear(refreshName(account)) }
        let dropped = accounts.reduce(UInt8(0)) { $0 | refreshItemBit($1) }
        try changeNote(call) { note in
            guard note.refreshItems & dropped != 0 else { return false }
            note.refreshItems &= ~dropped
            if note.refreshItems == 0 { note.refreshLevel = 0 }
            return true
        }
    }

    /// Clears the items of a sign-in that was cut short before its record, and those that a sign-in has replaced.
    func dropOrphans(_ call: CallContext) throws(TokenKeepError) {
        let call = CallContext(deadline: call.deadline.within(milliseconds: 1000))
        let lock = try changeLock(call)
        let orphans = try orphanedRefreshItems(readFiles(call))
        if !orphans.isEmpty {
            options.explain?("cleared the refresh token of a sign-in that was cut short or replaced")
            try dropRefreshItems(orphans, call)
        }
        _ = consume lock
    }

    /// The accounts whose items may have a refresh token that no record needs. Only under the change lock it is certain.
    func orphanedRefreshItems(_ view: SessionView) -> [String] {
        refreshAccounts(
            RepairRules.orphans(
                view.note, live: view.record.map { refreshItemBit($0.refreshItem) }, hasForeign: view.foreign != nil))
    }
}

extension AccessLevel {
    /// The conditions of a level beyond the first unlock.
    private var conditions: Set<AccessLevel> {
        switch self {
        case .afterFirstUnlock: []
        case .whenUnlocked: [.whenUnlocked]
        case .afterFirstUnlockThisDeviceOnly: [.afterFirstUnlockThisDeviceOnly]
        case .whenUnlockedThisDeviceOnly: [.whenUnlocked, .afterFirstUnlockThisDeviceOnly]
        case .whenPasscodeSetThisDeviceOnly:
            [.whenUnlocked, .afterFirstUnlockThisDeviceOnly, .whenPasscodeSetThisDeviceOnly]
        case .memoryOnly: Set(AccessLevel.allCases)
        }
    }

    /// Whether a level asks for all that another asks for, and for more.
    func isStricter(than other: AccessLevel) -> Bool { conditions.isStrictSuperset(of: other.conditions) }
}
