import CSodium
package import TokenKeepCore

/// Argon2id of a password or a recovery code (RFC 9106).
package enum PasswordDerivation {
    /// The longest password, in bytes.
    static let maximumLength = 4096

    /// The derivation of a new slot, with a salt of its own.
    package static func new(_ costs: PasswordCosts = .standard) -> KeyDerivation {
        .argon2id(
            passes: costs.passes, memoryKiB: costs.memoryKiB, salt: RandomBytes.make(KeyDerivation.saltLength))
    }

    /// Derives a slot's key-encryption key and commitment. The costs were checked when the slot was read.
    ///
    /// - Throws: ``Status/io`` if there is not enough memory, ``Status/timedOut``, ``Status/cancelled``.
    package static func key(
        of password: SecretBytes, by derivation: KeyDerivation, _ call: CallContext
    ) throws(TokenKeepError) -> DerivedKey {
        guard case .argon2id(let passes, let memoryKiB, let salt) = derivation else {
            throw TokenKeepError(.internal, "a slot of a password has no costs", module: "vault")
        }
        try check(password)
        try Sodium.start()
        var outcome: Int32 = -1
        let derived = try SecretBytes(count: KeyRing.keyLength + DerivedKey.commitmentLength) { derived in
            password.withUnsafeBytes { password in
                guard let start = derived.bindMemory(to: UInt8.self).baseAddress,
                    let text = password.bindMemory(to: CChar.self).baseAddress
                else { return }
                outcome = crypto_pwhash(
                    start, UInt64(derived.count), text, UInt64(password.count), salt, UInt64(passes),
                    Int(memoryKiB) * 1024, crypto_pwhash_ALG_ARGON2ID13)
            }
        }
        guard outcome == 0 else {
            throw TokenKeepError(
                .io, "the password's key needs \(memoryKiB / 1024) MiB of memory, which are not there", module: "vault")
        }
        return try derived.withUnsafeBytes { bytes throws(TokenKeepError) in
            DerivedKey(
                wrapping: try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<KeyRing.keyLength])),
                commitment: Array(bytes[KeyRing.keyLength...]))
        }
    }

    /// Refuses an empty password and one that is too long.
    package static func check(_ password: SecretBytes) throws(TokenKeepError) {
        guard password.count > 0 else { throw TokenKeepError(.invalid, "the password is empty") }
        guard password.count <= maximumLength else {
            throw TokenKeepError(.invalid, "the password is longer than \(maximumLength) bytes")
        }
    }
}
