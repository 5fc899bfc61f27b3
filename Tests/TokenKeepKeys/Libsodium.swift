import CSodium

/// Argon2id as libsodium computes it.
enum Libsodium {
    static func argon2id(_ password: [UInt8], _ salt: [UInt8], _ passes: UInt32, _ memoryKiB: UInt32) -> [UInt8] {
        var derived = [UInt8](repeating: 0, count: 64)
        let outcome = crypto_pwhash(
            &derived, 64, password.map { CChar(bitPattern: $0) }, UInt64(password.count), salt, UInt64(passes),
            Int(memoryKiB) * 1024, crypto_pwhash_ALG_ARGON2ID13)
        return outcome == 0 ? derived : []
    }
}
