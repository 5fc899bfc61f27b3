package import TestSupport

/// A gnome-keyring that two vaults share, as those of two machines with one home do.
package struct SharedKeyring {
    package let keyring: PrivateKeyring
    /// The stores of the vault under test.
    package let ours: TestStore
    /// The stores of the other vault.
    package let theirs: TestStore

    package init() throws {
        keyring = try PrivateKeyring()
        ours = TestStore(keyring.bus)
        theirs = TestStore(keyring.bus)
    }
}
