/// The accessibility level of an item: when the item can be read. The raw values are those of the C API.
public enum AccessLevel: UInt32, Sendable, CaseIterable {
    /// Readable while the screen is unlocked.
    case whenUnlocked = 1
    /// Readable after the first unlock since the machine's start. The default.
    case afterFirstUnlock = 2
    /// Like ``whenUnlocked``, but the item never leaves this machine.
    case whenUnlockedThisDeviceOnly = 3
    /// Like ``afterFirstUnlock``, but the item never leaves this machine.
    case afterFirstUnlockThisDeviceOnly = 4
    /// Like ``whenUnlockedThisDeviceOnly``, but only while the vault has a password.
    case whenPasscodeSetThisDeviceOnly = 5
    /// Kept only in the store's memory until the store is closed or the process ends. For one-time codes.
    case memoryOnly = 6

    /// The level's name on the command line and in files, for example `after-first-unlock`.
    public var word: String {
        switch self {
        case .whenUnlocked: "when-unlocked"
        case .afterFirstUnlock: "after-first-unlock"
        case .whenUnlockedThisDeviceOnly: "when-unlocked-this-device-only"
        case .afterFirstUnlockThisDeviceOnly: "after-first-unlock-this-device-only"
        case .whenPasscodeSetThisDeviceOnly: "when-passcode-set-this-device-only"
        case .memoryOnly: "memory-only"
        }
    }

    /// Whether an item of this level must never leave this machine.
    public var isThisDeviceOnly: Bool {
        switch self {
        case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .whenPasscodeSetThisDeviceOnly, .memoryOnly:
            true
        case .whenUnlocked, .afterFirstUnlock: false
        }
    }

    /// Whether the level's key needs a device of this machine (such as a TPM) in addition to the password or the
    /// keyfile.
    public var needsDevice: Bool { isThisDeviceOnly && self != .memoryOnly }

    /// Whether an item of the level is readable only while the screen is unlocked.
    public var endsWithScreen: Bool {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly, .whenPasscodeSetThisDeviceOnly: true
        case .afterFirstUnlock, .afterFirstUnlockThisDeviceOnly, .memoryOnly: false
        }
    }

    /// Makes the level whose name is `word`.
    ///
    /// - Throws: ``Status/policy`` for the Keychain's `always`, which is too permissive; ``Status/invalid`` for any
    ///   other unknown name.
    public init(word: String) throws(TokenKeepError) {
        if word == "always" || word == "always-this-device-only" {
            throw TokenKeepError(
                .policy, "the level \"\(word)\" is too permissive and is refused",
                hint: "use after-first-unlock")
        }
        guard let level = AccessLevel.allCases.first(where: { $0.word == word }) else {
            let words = AccessLevel.allCases.map(\.word).joined(separator: ", ")
            throw TokenKeepError(.invalid, "there is no such level", hint: "the levels are: \(words)")
        }
        self = level
    }
}
