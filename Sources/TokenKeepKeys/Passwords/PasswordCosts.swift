/// The costs of Argon2id for a new slot.
package struct PasswordCosts: Sendable {
    package let passes: UInt32
    package let memoryKiB: UInt32

    /// 64 MiB, three passes. Only tests use other costs.
    package static let standard = PasswordCosts(passes: 3, memoryKiB: 65_536)

    package init(passes: UInt32, memoryKiB: UInt32) {
        self.passes = passes
        self.memoryKiB = memoryKiB
    }
}
