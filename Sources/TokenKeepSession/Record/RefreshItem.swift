import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// A refresh token at a stricter level than its session: the secret of an item of its own (docs/sessions.md).
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

        init(epoch: String, generation: UInt64, token: SecretBytes) {
            self.epoch = epoch
            self.generation = generation
            self.token = token
        }

        fileprivate init?(_ json: JSONValue) throws(TokenKeepError) {
            guard let epoch = json["epoch"]?.text, !epoch.isEmpty, let token = try json["refresh_token"]?.secret(),
                TokenResponse.isToken(token)
            else { return nil }
            self.init(epoch: epoch, generation: UInt64(clamping: json["generation"]?.integer ?? 0), token: token)
        }

        fileprivate func write(to json: JSONValue) throws(TokenKeepError) {
            try json.set("epoch", epoch)
            try json.set("generation", Int64(clamping: generation))
            try json.set("refresh_token", token)
        }
    }

    let entry: Entry
    let previous: Entry?

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
    func entry(of epoch: String?) -> Entry? { [entry, previous].compactMap { $0 }.first { $0.epoch == epoch } }

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

    private static let damaged = TokenKeepError(
        .corrupt, "the item of the refresh token is damaged", hint: "nothing was deleted; sign in again")
}

extension Session {
    /// The name of the item that has the refresh token of a session with one.
    private func refreshName(_ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: name.namespace, service: RefreshItem.service, account: account)
    }

    /// The account of the session's refresh token: the ID of the session's name, the same in every era.
    var refreshAccount: String { Hexadecimal.text(id) }

    /// The item with the refresh token; nil if there is none.
    func refreshItem(_ account: String, _ call: CallContext) throws(TokenKeepError) -> RefreshItem? {
        do throws(TokenKeepError) {
            return try load(refreshName(account), call).map { item throws(TokenKeepError) in
                try RefreshItem(item.secret)
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

    /// The token that the item has for the present sign-in; nil if the item has none.
    ///
    /// - Parameter needsIt: whether an item that cannot be read is an error; else there is no token. A damaged item has
    ///   none in any case; that of a later TokenKeep is never replaced.
    func presentRefreshEntry(
        _ note: SessionNote, needsIt: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> RefreshItem.Entry? {
        guard note.refreshLevel != 0, !note.epoch.isEmpty else { return nil }
        do throws(TokenKeepError) {
            return try refreshItem(refreshAccount, call)?.entry(of: note.epoch)
        } catch {
            guard error.status == .unsupported || needsIt && error.status != .corrupt else { return nil }
            throw error
        }
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

    /// Clears the item with the refresh token, and notes that there is none.
    func dropRefreshItem(account: String? = nil, _ call: CallContext) throws(TokenKeepError) {
        try store.clearWithoutPrompts(refreshName(account ?? refreshAccount))
        try changeNote(call) { note in
            guard note.refreshLevel != 0 else { return false }
            note.refreshLevel = 0
            return true
        }
    }

    /// Clears the item of a sign-in that was cut short before its record, or of one that has no such item any more.
    func dropOrphan(_ call: CallContext) throws(TokenKeepError) {
        let call = CallContext(deadline: call.deadline.within(milliseconds: 1000))
        let lock = try changeLock(call)
        if try readFiles(call).hasOrphan {
            options.explain?("cleared the refresh token of a sign-in that was cut short")
            try dropRefreshItem(call)
        }
        _ = consume lock
    }
}

extension SessionView {
    /// Whether there may be an item with a refresh token that no record needs. Only under the change lock it is certain.
    var hasOrphan: Bool {
        guard note.refreshLevel != 0, foreign == nil else { return false }
        if let record { return record.refreshItem == nil }
        return !note.nextEpoch.isEmpty && note.endedEpoch == nil && (note.epoch.isEmpty || note.state == .signedOut)
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
