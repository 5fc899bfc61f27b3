/// The method by which the key of a header slot is derived (docs/format.md, "Slots").
///
/// A slot contains the vault's keys, encrypted under the derived key.
package enum KeyDerivation: Equatable, Sendable {
    /// The key is derived from a random key.
    case subkey
    /// The key is derived from a password, by Argon2id.
    case argon2id(passes: UInt32, memoryKiB: UInt32, salt: [UInt8])

    static let saltLength = 16
    private static let maximumPasses: UInt32 = 16
    private static let maximumMemoryKiB: UInt32 = 1 << 20
    /// The maximum product of passes and memory in KiB, which limits the time of a derivation.
    private static let maximumWork: UInt64 = 2048 * 1024

    package static func parse(_ reader: inout ByteReader) throws(FormatFault) -> KeyDerivation {
        let number = try reader.integer(UInt8.self, "key derivation")
        try reader.zeros(3, "key derivation")
        let passes = try reader.integer(UInt32.self, "passes")
        let memory = try reader.integer(UInt32.self, "memory")
        let salt = try reader.array(saltLength, "salt")
        switch number {
        case 0:
            guard passes == 0, memory == 0, salt.allSatisfy({ $0 == 0 }) else {
                throw .malformed("a slot without a password has costs")
            }
            return .subkey
        case 1:
            guard (1...maximumPasses).contains(passes), (8...maximumMemoryKiB).contains(memory),
                UInt64(passes) * UInt64(memory) <= maximumWork
            else { throw .malformed("a slot asks for \(passes) passes over \(memory) KiB, outside what is allowed") }
            return .argon2id(passes: passes, memoryKiB: memory, salt: salt)
        default: throw .malformed("a slot has an unknown key derivation")
        }
    }

    package func write(to writer: inout ByteWriter) {
        switch self {
        case .subkey:
            writer.zeros(28)
        case .argon2id(let passes, let memory, let salt):
            writer.append(integer: UInt8(1))
            writer.zeros(3)
            writer.append(integer: passes)
            writer.append(integer: memory)
            writer.append(salt)
        }
    }
}
