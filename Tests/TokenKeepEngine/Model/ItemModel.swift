/// What must be true of one item, whatever a history did to it.
struct ItemModel {
    /// What a load may answer; nil is "no item". More than one where another program came between or it cannot be told.
    private(set) var possible: Set<String?> = [nil]
    /// What another program saved later than what a store was acknowledged: it stands once everything is settled.
    private(set) var theirs: String?
    /// The same, where it cannot be told whether it still stands.
    private var perhapsTheirs: String?

    /// A save or a clear was acknowledged: nothing earlier may be seen any more.
    mutating func acknowledge(_ value: String?) {
        possible = [value]
        theirs = nil
        perhapsTheirs = nil
    }

    /// It cannot be told whether this is what became of it.
    mutating func mayBe(_ value: String?) {
        possible.insert(value)
        perhapsTheirs = theirs ?? perhapsTheirs
        theirs = nil
    }

    /// Everything is settled: what is loaded from now on is what there is.
    mutating func endDoubt() { perhapsTheirs = nil }

    /// A load answered.
    mutating func see(_ value: String?) {
        guard let later = theirs ?? perhapsTheirs, value != later else { return acknowledge(value) }
        possible = [value, later]
    }

    /// Another program saved a value, or cleared it with nil.
    ///
    /// - Parameter owing: what a record that governs says: whether the change is later than it; nil without a record.
    mutating func change(to value: String?, laterThanRecord owing: Bool?) {
        guard let isLater = owing else { return acknowledge(value) }
        if let replaced = theirs ?? perhapsTheirs { possible.remove(replaced) }
        theirs = nil
        perhapsTheirs = nil
        // What is gone from a module is put there anew; a second is the unit of time, and in the same one ours wins.
        guard isLater, let value else { return }
        theirs = value
        possible.insert(value)
    }
}
