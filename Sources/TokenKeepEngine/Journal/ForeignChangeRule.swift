import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Decides whether another program's value in a module is newer than the pending change, or the change replaces it.
///
/// The facts are the values that this vault gave to the module or saw there, and the time of the pending change.
struct ForeignChangeRule: Equatable {
    /// The keyed fingerprints of the values that the module held at a load or confirmed after a save.
    var seen: Set<[UInt8]> = []
    /// The keyed fingerprints of the values that were sent to the module, and of the record's own value.
    var own: Set<[UInt8]> = []
    /// The time of the pending change.
    var changedAt: UnixTime
    /// Whether the wall clock may have been set back since the pending change.
    var order = ClockMark.Order.kept

    /// The minimum difference, in seconds, by which a time counts as earlier if the machine was restarted in between.
    private static let doubtfulSeconds: Int64 = 3600

    /// The newer value: that of the pending change (`ours`) or that of the module (`theirs`).
    enum Judgement {
        /// The pending change is newer, for example because this vault knows the module's value.
        case ours
        /// Another program wrote the module's value after the pending change.
        case theirs
    }

    /// Decides whether a module's value is older than the pending change.
    ///
    /// A value that this vault knows is older, whatever the clocks say. Any other value was written by another program:
    ///
    /// - If this vault knew an earlier value of the module, the module's value is newer, unless its time is certainly
    ///   earlier than the pending change.
    /// - If this vault knew no value of the module, the later time wins. Within the same second, the pending change
    ///   wins.
    ///
    /// - Parameter modifiedAt: the modification time of the module's value, in whole seconds; nil if the module reports
    ///   none, which counts as newer.
    func judge(_ fingerprint: [UInt8], modifiedAt: UnixTime?) -> Judgement {
        if seen.contains(fingerprint) || own.contains(fingerprint) { return .ours }
        guard let modifiedAt else { return .theirs }
        guard !seen.isEmpty else { return modifiedAt <= changedAt ? .ours : .theirs }
        switch order {
        case .kept: return modifiedAt < changedAt ? .ours : .theirs
        case .unknown:
            let (latest, isOver) = changedAt.rawValue.subtractingReportingOverflow(ForeignChangeRule.doubtfulSeconds)
            return !isOver && modifiedAt.rawValue < latest ? .ours : .theirs
        case .setBack: return .theirs
        }
    }
}

extension PendingDrain {
    /// Whether the module's item is no newer than the pending change, so that it may be replaced or removed.
    func isKnown(
        _ theirs: TokenItem, to part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> Bool {
        // Only a TokenKeep process that holds the item's lock writes sealed values, so no other program wrote this
        // value.
        if theirs.details.isSealed { return true }
        // An item with fewer protection requirements must never replace an item with more requirements, so it counts as
        // older.
        let requirements = (ours?.details ?? record.details)?.flags.intersection(.requirements) ?? []
        if !theirs.details.flags.isSuperset(of: requirements) { return true }
        let fingerprint = item.keys.fingerprint(of: theirs.secret)
        return rule(for: part, ours, item).judge(fingerprint, modifiedAt: theirs.details.modifiedAt) == .ours
    }

    private func rule(
        for part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> ForeignChangeRule {
        let holder = item.holder(part.module)
        var own = Set(part.inFlight + holder.sent)
        if let ours { own.insert(item.keys.fingerprint(of: ours.secret)) }
        var seen = Set(holder.seen)
        if let base = part.base { seen.insert(base) }
        return ForeignChangeRule(
            seen: seen, own: own, changedAt: part.since,
            order: part.clocks.order(until: pending.clocks()))
    }
}
