import TokenKeepCore

/// What must be true of one item, whatever a history did to it.
struct ItemModel {
    /// What a load may answer; nil is "no item". More than one where another program came between or it cannot be told.
    private(set) var possible: Set<String?> = [nil]
    /// What another program saved later than what a store was acknowledged: it stands once everything is settled.
    private(set) var theirs: String?
    /// The same, where it cannot be told whether it still stands.
    private var perhapsTheirs: String?
    /// What another program saved last, until a store has seen it.
    private var unseen: (value: String?, at: UnixTime, clockOffset: Int64)?
    /// Whether it may ask for protection that the vault alone gives: then it may stay there.
    private(set) var mayStayInVault = false
    /// Whether it may ask for enforced protection, which only a password gives.
    private(set) var mayBeEnforced = false
    /// Whether the vault may keep it below another program's item: the service was never seen when it was saved.
    private(set) var mayBeShadowed = false
    /// Whether it asks for enforced protection for certain.
    private(set) var isEnforced = false

    /// A save or a clear was acknowledged: nothing earlier may be seen any more.
    mutating func acknowledge(_ value: String?) {
        possible = [value]
        theirs = nil
        perhapsTheirs = nil
    }

    /// A store was acknowledged, without a look at what another program saved before.
    ///
    /// In the same second nobody can tell which was earlier, nor when the clock was set back meanwhile.
    ///
    /// - Parameters:
    ///   - present: what the service has now.
    ///   - isPending: whether the change waits for the service.
    mutating func meetUnseen(_ present: String?, at now: UnixTime, clockOffset: Int64, isPending: Bool) {
        if let unseen, unseen.value != present { self.unseen = nil }
        guard isPending, let unseen, let value = unseen.value, unseen.at >= now || clockOffset < unseen.clockOffset
        else { return }
        possible.insert(value)
        perhapsTheirs = value
    }

    /// The clock was set back: what another program saved unseen may count as later than what is pending.
    mutating func clockWasSetBack(isPending: Bool) {
        guard isPending, let value = unseen?.value, theirs == nil else { return }
        possible.insert(value)
        perhapsTheirs = value
    }

    /// A save asks for a level, or keeps the item's for nil.
    ///
    /// - Parameter isAcknowledged: false before its answer came: it may have happened.
    mutating func ask(_ level: AccessLevel?, _ flags: ItemFlags, isAcknowledged: Bool) {
        guard let level else { return }
        let isMore = level == .whenUnlocked || flags.contains(.requireEnforced)
        // A store that saw it keeps that in mind, whatever others do to the item.
        mayStayInVault = isMore || mayStayInVault
        mayBeEnforced = flags.contains(.requireEnforced) || mayBeEnforced
        isEnforced = isAcknowledged && flags.contains(.requireEnforced)
    }

    /// A save was acknowledged that stays in the vault, because no service was ever used.
    mutating func isInVault() { mayStayInVault = true }

    /// A save into the vault was acknowledged, and it cannot be told whether the service has another program's item.
    mutating func mayBeShadowed(by value: String?) {
        guard let value else { return }
        mayBe(value)
        mayBeShadowed = true
    }

    /// A clear was acknowledged: what the item asked for went with it.
    mutating func acknowledgeClear() {
        acknowledge(nil)
        (isEnforced, mayBeShadowed) = (false, false)
    }

    /// It cannot be told whether this is what became of it.
    mutating func mayBe(_ value: String?) {
        possible.insert(value)
        if value == nil { isEnforced = false }
        perhapsTheirs = theirs ?? perhapsTheirs
        theirs = nil
    }

    /// Everything is settled: what is loaded from now on is what there is.
    mutating func endDoubt() { perhapsTheirs = nil }

    /// A load answered.
    mutating func see(_ value: String?) {
        if let unseen, unseen.value == value { self.unseen = nil }
        guard let later = theirs ?? perhapsTheirs, value != later else { return acknowledge(value) }
        possible = [value, later]
    }

    /// Another program saved a value, or cleared it with nil.
    ///
    /// - Parameter owing: what a record that governs says: whether the change is certainly later; nil without a record.
    mutating func change(
        to value: String?, at now: UnixTime, clockOffset: Int64, laterThanRecord owing: Bool?
    ) {
        unseen = (value, now, clockOffset)
        guard let isLater = owing else { return acknowledge(value) }
        if let replaced = theirs ?? perhapsTheirs { possible.remove(replaced) }
        theirs = nil
        perhapsTheirs = nil
        // What is gone from a module is put there anew; a second is the unit of time.
        // Nobody can tell a value that the item may have already.
        guard let value, possible.insert(value).inserted else { return }
        if isLater { theirs = value } else { perhapsTheirs = value }
    }
}
