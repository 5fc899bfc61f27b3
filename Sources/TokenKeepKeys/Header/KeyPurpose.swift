package import TokenKeepCore

/// The purpose of a key of the vault. Files contain the number of the purpose (docs/format.md, "Keys").
package enum KeyPurpose: Hashable, Sendable {
    /// Encrypts the secrets of items of one level.
    case level(AccessLevel)
    /// Computes the file names of records, and encrypts the part of a record that is readable while the vault is
    /// locked.
    ///
    /// A record is an item's file. Only the keyfile opens this key.
    case name
    /// Encrypts the metadata of items.
    case metadata
    /// Encrypts, together with a level's key, the items that need the password at each use.
    case presence
    /// Authenticates the header (the file with the vault's encrypted keys) by its MAC B.
    case header
    /// Computes fingerprints, versions and IDs of items. Only the keyfile opens this key, which is never replaced.
    case journal

    package init?(number: UInt8) {
        switch number {
        case 1...5:
            guard let level = AccessLevel(rawValue: UInt32(number)) else { return nil }
            self = .level(level)
        case 16: self = .name
        case 17: self = .metadata
        case 18: self = .presence
        case 19: self = .header
        case 20: self = .journal
        default: return nil
        }
    }

    package var number: UInt8 {
        switch self {
        case .level(let level): UInt8(level.rawValue)
        case .name: 16
        case .metadata: 17
        case .presence: 18
        case .header: 19
        case .journal: 20
        }
    }

    /// Whether the header's slots contain keys of this purpose.
    ///
    /// The name key and the journal key are outside the slots, because the keyfile alone opens them.
    var isOfSlots: Bool { self != .name && self != .journal }

    /// The purposes of the keys that are removed when the screen is locked.
    static let ofScreen = AccessLevel.allCases.filter(\.endsWithScreen).map(KeyPurpose.level)

    /// Whether a key of this purpose is removed when the screen is locked.
    var endsWithScreen: Bool { KeyPurpose.ofScreen.contains(self) }

    /// Whether a replaced key of this purpose may be kept as a retiring key, which only decrypts.
    var mayRetire: Bool {
        switch self {
        case .level, .presence: true
        case .name, .metadata, .header, .journal: false
        }
    }
}
