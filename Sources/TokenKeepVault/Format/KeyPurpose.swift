import TokenKeepCore

/// What a key of the hierarchy is for. The numbers are those of the files.
enum KeyPurpose: Hashable {
    /// Seals the secrets of one level.
    case level(AccessLevel)
    /// Names items; opened by the keyfile alone.
    case name
    /// Seals metadata.
    case metadata
    /// Part of the key of items that each use asks for.
    case presence

    init?(number: UInt8) {
        switch number {
        case 1...5:
            guard let level = AccessLevel(rawValue: UInt32(number)) else { return nil }
            self = .level(level)
        case 16: self = .name
        case 17: self = .metadata
        case 18: self = .presence
        default: return nil
        }
    }

    var number: UInt8 {
        switch self {
        case .level(let level): UInt8(level.rawValue)
        case .name: 16
        case .metadata: 17
        case .presence: 18
        }
    }
}
