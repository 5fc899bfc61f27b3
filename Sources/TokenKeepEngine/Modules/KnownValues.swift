import TokenKeepCore

/// A module that remembers what it was last seen to hold.
protocol RememberingModule: Module {
    /// The item as this process last saw or saved it there; nil where it was absent or never seen.
    func lastSeen(_ name: ItemName) -> KnownValue?
}

/// An item as it was seen in a module, without its secret.
struct KnownValue: Sendable {
    /// The value's keyed fingerprint: a value that was seen is older than what is saved afterwards, whatever the clocks say.
    let fingerprint: [UInt8]
    /// Its level and flags, which a save that leaves them open keeps; nil where they were not seen.
    let details: ItemDetails?
}

/// What a module was last seen to hold.
final class KnownValues: Sendable {
    private static let limit = 1024
    private let values = Guarded<[ItemName: KnownValue]>([:])

    subscript(name: ItemName) -> KnownValue? {
        get { values.withLock { $0[name] } }
        set {
            values.withLock { values in
                if values.count >= KnownValues.limit { values.removeAll() }
                values[name] = newValue
            }
        }
    }
}
