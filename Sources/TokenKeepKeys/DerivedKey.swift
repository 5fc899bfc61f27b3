package import TokenKeepCore

/// The result of deriving a key from a password: a key that encrypts other keys, and check bytes (a commitment).
///
/// A vault stores the check bytes and compares them before it decrypts anything. The comparison detects a wrong
/// password, and ensures that the same keys never open under two passwords.
package struct DerivedKey: Sendable {
    package static let commitmentLength = 32
    package let wrapping: SecretBytes
    package let commitment: [UInt8]
}
