import TokenKeepCore
import TokenKeepKeys

/// Makes epochs: 128 random bits for each sign-in, in hexadecimal.
enum SessionEpoch {
    static func make() -> String { Hexadecimal.text(RandomBytes.make(16)) }
}

extension SessionTransaction {
    /// Writes the record of a new sign-in, in the order note, record, note, so that a crash leaves either the old or
    /// the new session. A separate refresh token is written before the record, beside the present refresh token.
    ///
    /// - Parameter keepsPrevious: whether to throw if the present refresh token is unreadable. If false, its item is
    ///   kept until the note names the new record, and the new refresh token is stored in an item of another account.
    func begin(
        _ record: SessionRecord, epoch: String, level: AccessLevel?, isFromServer: Bool = false,
        keepsPrevious: Bool = true
    ) throws(TokenKeepError) {
        try record.adopt(epoch: epoch)
        let known = try storage.note()
        let before = known ?? SessionNote()
        let refreshLevel = try SignInRules.refreshLevel(
            storage.options.refreshLevel, level, before, canRenew: record.canRenew)
        var place: SessionStorage.RefreshPlace?
        if let refreshLevel {
            let found = try storage.refreshPlace(before, needsPresent: keepsPrevious, call)
            try record.separate((found.account, refreshLevel))
            place = found
        } else {
            try record.separate(nil)
        }
        let item = storage.refreshItemBit(place?.account)
        try apply(.beginning(epoch: epoch, refreshLevel: refreshLevel, item: item))
        try saveSignIn(record, epoch, (level, refreshLevel), place, after: known)
        try apply(
            .begun(
                record, epoch: epoch, level: level, storage.options.rotation, isFromServer: isFromServer,
                item: storage.refreshItemBit(record.refreshItem)))
        dropPreviousRefreshToken(record, refreshLevel, before, place?.previous)
    }

    /// Saves the items of a sign-in. If one of them is refused, removes the item that was already saved.
    private func saveSignIn(
        _ record: SessionRecord, _ epoch: String, _ levels: (session: AccessLevel?, refresh: AccessLevel?),
        _ place: SessionStorage.RefreshPlace?, after known: SessionNote?
    ) throws(TokenKeepError) {
        var isApart = false
        do throws(TokenKeepError) {
            try saveRefreshToken(of: record, level: levels.refresh, previous: place?.previous)
            isApart = place != nil
            try saveItem(record, level: levels.session)
        } catch {
            if SignInRules.isRefused(error.status) {
                try? withdraw(epoch, to: known, isApart ? place : nil)
            }
            throw error
        }
    }

    /// Removes a refused sign-in: restores the note, and clears the refresh token's item.
    ///
    /// - Parameter place: the account of the item with the new refresh token; nil if that item was not saved.
    private func withdraw(
        _ epoch: String, to known: SessionNote?, _ place: SessionStorage.RefreshPlace?
    ) throws(TokenKeepError) {
        if let place, place.previous == nil { try dropRefreshItems([place.account]) }
        try apply(.refused(epoch: epoch, known))
    }

    /// Clears the refresh token of the previous sign-in. If this fails, the next refresh or another later call clears
    /// that token.
    private func dropPreviousRefreshToken(
        _ record: SessionRecord, _ level: AccessLevel?, _ before: SessionNote, _ previous: RefreshItem.Entry?
    ) {
        try? dropRefreshItems(storage.refreshAccounts(before.refreshItems).filter { $0 != record.refreshItem })
        if previous != nil { try? saveRefreshToken(of: record, level: level, previous: nil) }
    }
}
