package import TokenKeepCore

/// The result of a derivation: the key that wraps a slot's keys, and the commitment stored in the slot.
///
/// The commitment is compared before a box is opened, so that no slot opens under two passwords.
package struct DerivedKey: Sendable {
    package static let commitmentLength = 32
    package let wrapping: SecretBytes
    package let commitment: [UInt8]
}
