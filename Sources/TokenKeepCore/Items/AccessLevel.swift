/// When an item may be read: the Keychain's accessibility levels. The numbers are those of the C API.
public enum AccessLevel: UInt32, Sendable, CaseIterable {
    /// While the screen is unlocked.
    case whenUnlocked = 1
    /// From the first unlock after boot; the default.
    case afterFirstUnlock = 2
    /// As ``whenUnlocked``, on this machine alone.
    case whenUnlockedThisDeviceOnly = 3
    /// As ``afterFirstUnlock``, on this machine alone.
    case afterFirstUnlockThisDeviceOnly = 4
    /// As ``whenUnlockedThisDeviceOnly``, and only while the vault has a password.
    case whenPasscodeSetThisDeviceOnly = 5
    /// In this store's memory alone, until it is closed or the process ends; for one-time codes.
    case memoryOnly = 6

    /// The level's word in the command line and in files: `after-first-unlock`.
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

    /// Reads a level's word.
    ///
    /// - Throws: ``Status/policy`` for `always`, which is too permissive to be had; ``Status/invalid`` for any other
    ///   unknown word.
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
