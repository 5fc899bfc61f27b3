import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

extension PendingDrain {
    /// Whether the module's item is no newer than the pending change.
    ///
    /// The item is known if this store saw it before or sent it, or if it equals the record's value. Otherwise the
    /// modification times decide. Times are whole seconds; within the same second the pending change wins.
    func isKnown(
        _ theirs: TokenItem, to part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> Bool {
        // Only the holder of the item's lock writes sealed values.
        if theirs.details.isSealed { return true }
        // A foreign item cannot have protection requirements, so it never replaces an item that has some.
        if theirs.details.isForeign, let ours, !ours.details.flags.isDisjoint(with: .requirements) { return true }
        let fingerprint = item.keys.fingerprint(of: theirs.secret)
        if fingerprint == part.base || part.inFlight.contains(fingerprint) { return true }
        if let ours, ours.secret == theirs.secret { return true }
        if item.sent(to: part.module).contains(fingerprint) { return true }
        return theirs.details.modifiedAt.map { $0 <= part.since } ?? false
    }
}
