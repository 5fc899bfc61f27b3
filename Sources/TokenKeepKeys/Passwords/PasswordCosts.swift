/// The costs of deriving a key from a new password with Argon2id.
package struct PasswordCosts: Sendable {
    package let passes: UInt32
    package let memoryKiB: UInt32

    /// The usual costs: three passes over 64 MiB. Only tests use other costs.
    package static let standard = PasswordCosts(passes: 3, memoryKiB: 65_536)

    package init(passes: UInt32, memoryKiB: UInt32) {
        self.passes = passes
        self.memoryKiB = memoryKiB
    }
}
