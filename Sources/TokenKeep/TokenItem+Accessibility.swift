import TokenKeepCore

extension TokenItem {
    /// The level of an item: when it may be read. Mirrors the Keychain's accessibility; raw values as in the C API.
    public enum Accessibility: UInt32, Sendable, CaseIterable {
        /// Readable while the screen is unlocked.
        case whenUnlocked = 1
        /// Readable from the first unlock after boot on; the default.
        case afterFirstUnlock = 2
        /// Like ``whenUnlocked``, but only on this machine: the vault must be bound to a device first, by
        /// ``TokenStore/chooseDevice(_:password:)`` or `tokenkeep device choose`.
        case whenUnlockedThisDeviceOnly = 3
        /// Like ``afterFirstUnlock``, but only on this machine. Needs a device as ``whenUnlockedThisDeviceOnly`` does.
        case afterFirstUnlockThisDeviceOnly = 4
        /// Like ``whenUnlockedThisDeviceOnly``, but only while the vault has a password.
        case whenPasscodeSetThisDeviceOnly = 5
        /// Kept only in this store's memory, until the store is closed or the process ends. For one-time codes.
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

    /// The flags of an item, which are kept besides its level. The raw values are those of the C API.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The flags' bits, as in the C API.
        public let rawValue: UInt32

        /// The flags that `rawValue` numbers.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Saving fails unless the level is enforced by keys on every axis it needs.
        public static let requireEnforced = Flags(rawValue: 1)
        /// Each use asks the user for the password.
        public static let userPresence = Flags(rawValue: 2)
        /// The item may be copied to the user's other machines. Excludes a this-device-only level.
        public static let synchronizable = Flags(rawValue: 4)

        var core: ItemFlags { ItemFlags(rawValue: rawValue) }
    }
}
