import TokenKeepCore

extension TokenItem {
    /// The accessibility level of an item: the time when it can be read. The raw values are those of the C API.
    public enum Accessibility: UInt32, Sendable, CaseIterable {
        /// Readable while the screen is unlocked.
        case whenUnlocked = 1
        /// Readable from the first unlock after boot on; the default.
        case afterFirstUnlock = 2
        /// Like ``whenUnlocked``, but only on this machine: the vault must be bound to a device first, by
        /// ``TokenStore/chooseDevice(_:password:)`` or `tokenkeep device choose`.
        case whenUnlockedThisDeviceOnly = 3
        /// Like ``afterFirstUnlock``, but only on this machine. Also needs a vault that is bound to a device.
        case afterFirstUnlockThisDeviceOnly = 4
        /// Like ``whenUnlockedThisDeviceOnly``, but only while the vault has a password.
        case whenPasscodeSetThisDeviceOnly = 5
        /// Stored only in this store's memory, until the store is closed or the process ends. For one-time codes.
        case memoryOnly = 6

        init(_ core: AccessLevel) {
            self =
                switch core {
                case .whenUnlocked: .whenUnlocked
                case .afterFirstUnlock: .afterFirstUnlock
                case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
                case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
                case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
                case .memoryOnly: .memoryOnly
                }
        }

        var core: AccessLevel {
            switch self {
            case .whenUnlocked: .whenUnlocked
            case .afterFirstUnlock: .afterFirstUnlock
            case .whenUnlockedThisDeviceOnly: .whenUnlockedThisDeviceOnly
            case .afterFirstUnlockThisDeviceOnly: .afterFirstUnlockThisDeviceOnly
            case .whenPasscodeSetThisDeviceOnly: .whenPasscodeSetThisDeviceOnly
            case .memoryOnly: .memoryOnly
            }
        }
    }

    /// The flags of an item, which are stored besides its level. The raw values are those of the C API.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The flags' bits, as in the C API.
        public let rawValue: UInt32

        /// Makes flags from their bits in the C API.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// A save fails unless keys enforce the protection on every axis that the level requires.
        public static let requireEnforced = Flags(rawValue: 1)
        /// Each use of the item requires the password.
        public static let userPresence = Flags(rawValue: 2)
        /// The item may be copied to the user's other machines. Cannot be combined with a this-device-only level.
        public static let synchronizable = Flags(rawValue: 4)

        var core: ItemFlags { ItemFlags(rawValue: rawValue) }
    }
}
