import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The items of refresh tokens that are kept apart.
extension SessionStorage {
    /// The name of the item that keeps a refresh token apart from the session's record.
    func refreshName(_ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: name.namespace, service: RefreshItem.service, account: account)
    }

    /// The accounts that the item of the refresh token may have: the ID of the session's name, the same in every era, and
    /// another one. A sign-in takes the other one if an item is there that cannot be read.
    private var refreshAccounts: [String] {
        let id = Hexadecimal.text(id)
        return [id, id + "-2"]
    }

    /// The accounts whose bits are set in a value of ``SessionNote/refreshItems``.
    func refreshAccounts(_ bits: UInt8) -> [String] {
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

    /// The refresh token of a sign-in whose record is cleared; nil if no item has it.
    ///
    /// - Throws: the reason why an item that may have it cannot be read.
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
