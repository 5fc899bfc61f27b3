import TokenKeepCore

/// A module that remembers the values it was last seen to hold.
protocol RememberingModule: Module {
    /// The item as this process last loaded or saved it in the module; nil if it was absent or never seen.
    func lastSeen(_ name: ItemName) -> SeenValue?
}

/// An item as last seen in a module, without its secret.
struct SeenValue: Sendable {
    /// The value's keyed fingerprint.
    ///
    /// A value seen before a save is older than the saved value, whatever the clocks say.
    let fingerprint: [UInt8]
    /// Whether the vault's holder notes have the value, for other processes.
    var isNoted = false
    /// The level and flags, which a save without a level keeps; nil if they were not seen.
    let details: ItemDetails?
}

/// The values that a module was last seen to hold.
final class SeenValues: Sendable {
    private static let limit = 1024
    private let values = MutexGuarded<[ItemName: SeenValue]>([:])

    subscript(name: ItemName) -> SeenValue? {
        get { values.withLock { $0[name] } }
        set {
            values.withLock { values in
                if values.count >= SeenValues.limit { values.removeAll() }
                values[name] = newValue
            }
        }
    }
}
