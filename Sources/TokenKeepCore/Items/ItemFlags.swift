/// Requirements and permissions of an item, in addition to its level. The raw values are those of the C API.
public struct ItemFlags: OptionSet, Sendable, Hashable {
    /// The bits of the flags, as in the C API.
    public let rawValue: UInt32

    /// Makes the flags whose bits are set in `rawValue`.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A save fails unless encryption or the kernel enforces the level against every threat that the level names.
    public static let requireEnforced = ItemFlags(rawValue: 1)
    /// The user must enter the password at each use of the item.
    public static let userPresence = ItemFlags(rawValue: 2)
    /// The item may be copied to the user's other machines. Not allowed with a this-device-only level.
    public static let synchronizable = ItemFlags(rawValue: 4)

    /// All flags that this version of TokenKeep knows.
    public static let known: ItemFlags = [.requireEnforced, .userPresence, .synchronizable]
}
