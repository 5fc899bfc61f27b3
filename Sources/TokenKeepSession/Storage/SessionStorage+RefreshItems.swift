import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// Reads the items of refresh tokens that are stored apart from their sessions.
extension SessionStorage {
    /// The name of the item that has a session's refresh token.
    func refreshName(_ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: name.namespace, service: RefreshItem.service, account: account)
    }

    /// The two possible accounts of the refresh token's item: the ID of the session's name, which is the same in every
    /// era, and this ID with "-2". A sign-in uses the second account if the item of the first is unreadable.
    private var refreshAccounts: [String] {
        let id = Hexadecimal.text(id)
        return [id, id + "-2"]
    }

    /// The accounts whose bits are set in `bits`, a value of ``SessionNote/refreshItems``.
    func refreshAccounts(_ bits: UInt8) -> [String] {
        refreshAccounts.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
    }

    /// The bit of an account in ``SessionNote/refreshItems``; 0 for every account except the two.
    func refreshItemBit(_ account: String?) -> UInt8 {
        account.flatMap { refreshAccounts.firstIndex(of: $0) }.map { 1 << UInt8($0) } ?? 0
    }

    /// Loads the item with the refresh token; nil if there is none.
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

    /// Returns the record with its refresh token. Loads the token if a separate item stores it.
    ///
    /// - Throws: the error of reading the refresh token's item, such as ``Status/locked``.
    func joined(_ record: SessionRecord, _ call: CallContext) throws(TokenKeepError) -> SessionRecord {
        guard record.refreshToken == nil, let account = record.refreshItem,
            let entry = try refreshItem(account, call)?.entry(of: record.epoch)
        else { return record }
        var joined = record
        joined.join(entry)
        return joined
    }

    /// The account under which the refresh token of a new sign-in is to be stored.
    struct RefreshPlace {
        let account: String
        /// The refresh token of the present sign-in, if the account's item has it; nil otherwise.
        let previous: RefreshItem.Entry?
    }

    /// Chooses the account for the refresh token of a new sign-in: the account whose item has the present refresh
    /// token, otherwise the first account whose item is not unreadable.
    ///
    /// - Parameter needsPresent: whether to throw if an item is unreadable. A damaged item never causes an error; an
    ///   item that a later TokenKeep wrote always does.
    /// - Throws: the error of reading an item, if `needsPresent` requires it or if both items are unreadable.
    func refreshPlace(
        _ note: SessionNote, needsPresent: Bool, _ call: CallContext
    ) throws(TokenKeepError) -> RefreshPlace {
        var free = refreshAccounts
        var problem: TokenKeepError?
        for account in refreshAccounts(note.refreshItems) {
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

    /// Returns the refresh token of a sign-in whose record is being cleared; nil if no item has it.
    ///
    /// - Throws: the error of reading an item that may have the refresh token.
    func refreshEntry(
        of epoch: String, _ note: SessionNote, _ call: CallContext
    ) throws(TokenKeepError) -> RefreshItem.Entry? {
        var problem: TokenKeepError?
        for account in refreshAccounts(note.refreshItems) {
            do throws(TokenKeepError) {
                if let entry = try refreshItem(account, call)?.entry(of: epoch) { return entry }
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return nil
    }
}
