import TokenKeepCore

/// A module that remembers each item as this process last loaded or saved it there.
protocol RememberingModule: Module {
    /// The item as this process last loaded or saved it; nil if the module had no such item or was not asked.
    func lastSeen(_ name: ItemName) -> SeenValue?
}

/// An item as this process last saw it in a module, with a fingerprint in place of its secret.
struct SeenValue: Sendable {
    /// The keyed hash of the item's value.
    ///
    /// If the module still has this value after a later save, this value is older than the saved value, whatever the
    /// clocks show.
    let fingerprint: [UInt8]
    /// Whether the fingerprint is also stored in the vault's directory `holders`, for other processes.
    var isNoted = false
    /// The level and flags, which a save without a level keeps; nil if this process does not know them.
    let details: ItemDetails?
}

/// The items of one module as this process last saw them.
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
