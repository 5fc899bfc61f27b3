/// The flags of an item, which are kept besides its level. The raw values are those of the C API.
public struct ItemFlags: OptionSet, Sendable, Hashable {
    /// The flags' bits, as in the C API.
    public let rawValue: UInt32

    /// The flags that `rawValue` numbers.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Saving fails unless the level is enforced by keys on every axis it needs.
    public static let requireEnforced = ItemFlags(rawValue: 1)
    /// Each use asks the user for the password.
    public static let userPresence = ItemFlags(rawValue: 2)
    /// The item may be copied to the user's other machines. Excludes a this-device-only level.
    public static let synchronizable = ItemFlags(rawValue: 4)

    /// Every flag that this build knows.
    public static let known: ItemFlags = [.requireEnforced, .userPresence, .synchronizable]
}
