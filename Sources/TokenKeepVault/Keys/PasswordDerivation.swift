import CSodium
import TokenKeepCore

/// Argon2id of what a user knows.
enum PasswordDerivation {
    /// How long a password may be, in bytes.
    static let maximumLength = 4096
    /// The costs of new slots: 64 MiB, three passes.
    static let passes: UInt32 = 3
    static let memoryKiB: UInt32 = 65_536

    /// How a new slot's key is made, with a salt of its own.
    static func new() -> KeyDerivation {
        .argon2id(passes: passes, memoryKiB: memoryKiB, salt: NewVault.random(Int(crypto_pwhash_SALTBYTES)))
    }

    /// The key-encryption key that a password gives. The costs were checked when the slot was read.
    ///
    /// - Throws: ``Status/io`` where there is not enough memory.
    static func key(
        of password: SecretBytes, by derivation: KeyDerivation, in arena: SecretArena
    ) throws(TokenKeepError) -> SecretBytes {
        guard case .argon2id(let passes, let memoryKiB, let salt) = derivation else {
            throw TokenKeepError(.internal, "a slot of a password has no costs", module: "vault")
        }
        try Sodium.start()
        var outcome: Int32 = -1
        let key = try SecretBytes(count: KeyHierarchy.keyLength, in: arena) { key in
            password.withUnsafeBytes { password in
                guard let start = key.bindMemory(to: UInt8.self).baseAddress,
                    let text = password.bindMemory(to: CChar.self).baseAddress
                else { return }
                outcome = crypto_pwhash(
                    start, UInt64(key.count), text, UInt64(password.count), salt, UInt64(passes),
                    Int(memoryKiB) * 1024, crypto_pwhash_ALG_ARGON2ID13)
            }
        }
        guard outcome == 0 else {
            throw TokenKeepError(
                .io, "the password's key needs \(memoryKiB / 1024) MiB of memory, which are not there", module: "vault")
        }
        return key
    }

    /// Refuses what no password can be.
    static func check(_ password: SecretBytes) throws(TokenKeepError) {
        guard password.count > 0 else { throw TokenKeepError(.invalid, "the password is empty") }
        guard password.count <= maximumLength else {
            throw TokenKeepError(.invalid, "the password is longer than \(maximumLength) bytes")
        }
    }
}
