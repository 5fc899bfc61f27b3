package import TokenKeepCore

/// The purpose of a key in the hierarchy. The raw numbers are those of the files (docs/format.md, "Keys").
package enum KeyPurpose: Hashable, Sendable {
    /// Seals the secrets of one level.
    case level(AccessLevel)
    /// Names records and seals their states. Only the keyfile opens the key.
    case name
    /// Seals metadata.
    case metadata
    /// Part of the key of items that ask for the password at each use.
    case presence
    /// Authenticates the header (MAC B).
    case header
    /// Makes fingerprints, versions and IDs, which are the same in every era. Only the keyfile opens the key.
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

    /// Whether a slot may wrap a key of this purpose.
    var isOfSlots: Bool { self != .name && self != .journal }

    /// Whether a key of this purpose may be kept as a retiring one.
    var mayRetire: Bool {
        switch self {
        case .level, .presence: true
        case .name, .metadata, .header, .journal: false
        }
    }
}
