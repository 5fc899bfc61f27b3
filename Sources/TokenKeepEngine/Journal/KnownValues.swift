import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The values of an item that this vault gave to a module or saw there, and the time of the pending change.
///
/// Decides whether the module's present value is known, or another program's newer one.
struct KnownValues: Equatable {
    /// The keyed fingerprints of the values that the module was seen to hold, or acknowledged.
    var seen: Set<[UInt8]> = []
    /// The fingerprints of values that were sent, and of the record's own value.
    var own: Set<[UInt8]> = []
    /// The time of the pending change.
    var changedAt: UnixTime
    /// The order of times of the wall clock since the pending change.
    var order = ClockMark.Order.kept

    /// After a new start of the machine, only a much earlier time is certainly earlier.
    private static let doubtfulSeconds: Int64 = 3600

    /// The author of a module's value.
    enum Judgement {
        /// The value is known: the pending change is newer.
        case ours
        /// Another program wrote the value after the pending change.
        case theirs
    }

    /// Judges the value that a module holds.
    ///
    /// A known value is ours, whatever the clocks say. Another program wrote any other value. If this vault knew the
    /// module's value before, the other program wrote later than that, so its value is newer unless it is certainly
    /// earlier than the pending change. If nothing is known, the earlier time loses; within the same second the pending
    /// change wins.
    ///
    /// - Parameter modifiedAt: the time of the module's value, in whole seconds; nil if the module reports none.
    func judge(_ fingerprint: [UInt8], modifiedAt: UnixTime?) -> Judgement {
        if seen.contains(fingerprint) || own.contains(fingerprint) { return .ours }
        guard let modifiedAt else { return .theirs }
        guard !seen.isEmpty else { return modifiedAt <= changedAt ? .ours : .theirs }
        switch order {
        case .kept: return modifiedAt < changedAt ? .ours : .theirs
        case .unknown:
            let (latest, isOver) = changedAt.rawValue.subtractingReportingOverflow(KnownValues.doubtfulSeconds)
            return !isOver && modifiedAt.rawValue < latest ? .ours : .theirs
        case .setBack: return .theirs
        }
    }
}

extension PendingDrain {
    /// Whether the module's item is no newer than the pending change.
    func isKnown(
        _ theirs: TokenItem, to part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> Bool {
        // Only the holder of the item's lock writes sealed values.
        if theirs.details.isSealed { return true }
        // An item never replaces one with more protection requirements.
        let requirements = (ours?.details ?? record.details)?.flags.intersection(.requirements) ?? []
        if !theirs.details.flags.isSuperset(of: requirements) { return true }
        let fingerprint = item.keys.fingerprint(of: theirs.secret)
        return known(part, ours, item).judge(fingerprint, modifiedAt: theirs.details.modifiedAt) == .ours
    }

    private func known(
        _ part: PendingWrite, _ ours: TokenItem?, _ item: borrowing ItemTransaction
    ) -> KnownValues {
        let holder = item.holder(part.module)
        var own = Set(part.inFlight + holder.sent)
        if let ours { own.insert(item.keys.fingerprint(of: ours.secret)) }
        var seen = Set(holder.seen)
        if let base = part.base { seen.insert(base) }
        return KnownValues(
            seen: seen, own: own, changedAt: part.since,
            order: part.clocks.order(until: pending.clocks()))
    }
}
