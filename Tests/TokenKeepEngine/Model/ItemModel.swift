import TokenKeepCore

/// The model of one item: the values that a load may return after the history so far.
struct ItemModel {
    /// The values that a load may return, of which nil means that there is no item.
    private(set) var possible: Set<String?> = [nil]
    /// Another program's value that is later than the last acknowledged change. A drain must keep this value.
    private(set) var theirs: String?
    /// Another program's value that may be later than the last acknowledged change.
    private var perhapsTheirs: String?
    /// The last change by another program; nil once a store has seen it.
    private var unseen: (value: String?, at: UnixTime, clockOffset: Int64)?
    /// Whether the item may require protection that only the vault gives, and so may stay in the vault.
    private(set) var mayStayInVault = false
    /// Whether the item may require enforced protection, which needs a password.
    private(set) var mayBeEnforced = false
    /// Whether another program's item may hide the vault's: no store knew the service when the item was saved.
    private(set) var mayBeShadowed = false
    /// Whether the item certainly requires enforced protection.
    private(set) var isEnforced = false

    /// Notes that a save or clear was acknowledged, after which no earlier value may be seen.
    mutating func acknowledge(_ value: String?) {
        possible = [value]
        theirs = nil
        perhapsTheirs = nil
    }

    /// Notes that a change was acknowledged while another program's last change was unseen.
    ///
    /// It is unknown which of the two changes is later, if both happened in one second or the clock was set back.
    ///
    /// - Parameters:
    ///   - present: the value that the service has now; nil if it has no item.
    ///   - isPending: whether the acknowledged change is still pending for the service.
    mutating func meetUnseen(_ present: String?, at now: UnixTime, clockOffset: Int64, isPending: Bool) {
        if let unseen, unseen.value != present { self.unseen = nil }
        guard isPending, let unseen, let value = unseen.value, unseen.at >= now || clockOffset < unseen.clockOffset
        else { return }
        possible.insert(value)
        perhapsTheirs = value
    }

    /// Notes that the clock was set back: an unseen change may now count as later than the pending one.
    mutating func clockWasSetBack(isPending: Bool) {
        guard isPending, let value = unseen?.value, theirs == nil else { return }
        possible.insert(value)
        perhapsTheirs = value
    }

    /// Notes the level and flags of a save. Without a level, the save keeps the item's level and flags.
    ///
    /// - Parameter isAcknowledged: whether the save succeeded. A save that failed may have happened all the same.
    mutating func ask(_ level: AccessLevel?, _ flags: ItemFlags, isAcknowledged: Bool) {
        guard let level else { return }
        let isMore = level == .whenUnlocked || flags.contains(.requireEnforced)
        // A store that saw the item remembers its level, even after another program changed the item.
        mayStayInVault = isMore || mayStayInVault
        mayBeEnforced = flags.contains(.requireEnforced) || mayBeEnforced
        isEnforced = isAcknowledged && flags.contains(.requireEnforced)
    }

    /// Notes that the item stays in the vault, because no service was ever used.
    mutating func isInVault() { mayStayInVault = true }

    /// Notes that the service may hide the vault's item behind another program's `value`.
    mutating func mayBeShadowed(by value: String?) {
        guard let value else { return }
        mayBe(value)
        mayBeShadowed = true
    }

    /// Notes that a clear was acknowledged, which also ends the item's protection requirement.
    mutating func acknowledgeClear() {
        acknowledge(nil)
        (isEnforced, mayBeShadowed) = (false, false)
    }

    /// Notes that a change to this value may have happened.
    mutating func mayBe(_ value: String?) {
        possible.insert(value)
        if value == nil { isEnforced = false }
        perhapsTheirs = theirs ?? perhapsTheirs
        theirs = nil
    }

    /// Ends all doubts about other programs' values, because every pending change has been drained.
    mutating func endDoubt() { perhapsTheirs = nil }

    /// Notes the value that a load returned.
    mutating func see(_ value: String?) {
        if let unseen, unseen.value == value { self.unseen = nil }
        guard let later = theirs ?? perhapsTheirs, value != later else { return acknowledge(value) }
        possible = [value, later]
    }

    /// Notes that another program saved a value, or cleared the item if the value is nil.
    ///
    /// - Parameter isLater: whether the change is certainly later than the pending change; nil if nothing is pending.
    mutating func change(
        to value: String?, at now: UnixTime, clockOffset: Int64, laterThanRecord isLater: Bool?
    ) {
        unseen = (value, now, clockOffset)
        guard let isLater else { return acknowledge(value) }
        if let replaced = theirs ?? perhapsTheirs { possible.remove(replaced) }
        theirs = nil
        perhapsTheirs = nil
        // A pending write puts a cleared item back. Another program's value that equals a possible one changes nothing.
        // Times are whole seconds.
        guard let value, possible.insert(value).inserted else { return }
        if isLater { theirs = value } else { perhapsTheirs = value }
    }
}
