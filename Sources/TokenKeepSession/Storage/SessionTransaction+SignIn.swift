import TokenKeepCore
import TokenKeepKeys

/// Epochs: 128 random bits for each sign-in.
enum SessionEpoch {
    static func make() -> String { Hexadecimal.text(RandomBytes.make(16)) }
}

extension SessionTransaction {
    /// Writes the record of a new epoch: note, record, note. A crash leaves the old or the new session, never neither. A
    /// refresh token of its own is written before the record, with the present one beside it.
    ///
    /// - Parameter keepsPrevious: whether a present refresh token that cannot be read is an error. Else its item stays until
    ///   the new record is noted, and the new token becomes an item of another account.
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

    /// Saves the items of a sign-in. If one is refused, nothing stays of the sign-in.
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

    /// Takes back the note of a sign-in that was refused, and its refresh token.
    ///
    /// - Parameter place: the place that has the refresh token; nil if none has it.
    private func withdraw(
        _ epoch: String, to known: SessionNote?, _ place: SessionStorage.RefreshPlace?
    ) throws(TokenKeepError) {
        if let place, place.previous == nil { try dropRefreshItems([place.account]) }
        try apply(.refused(epoch: epoch, known))
    }

    /// Drops the refresh token of the earlier sign-in. After a failure a later call drops it, or the next refresh.
    private func dropPreviousRefreshToken(
        _ record: SessionRecord, _ level: AccessLevel?, _ before: SessionNote, _ previous: RefreshItem.Entry?
    ) {
        try? dropRefreshItems(storage.refreshAccounts(before.refreshItems).filter { $0 != record.refreshItem })
        if previous != nil { try? saveRefreshToken(of: record, level: level, previous: nil) }
    }
}
