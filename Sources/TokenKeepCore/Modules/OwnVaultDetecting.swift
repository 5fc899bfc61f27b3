/// A module whose service may be a provider that serves this very vault.
///
/// The module then counts as absent: a vault with itself as a module would keep each item twice.
package protocol OwnVaultDetecting: Module {
    /// Whether the service is a provider of this vault, as far as it answers in time.
    func isOwnVault(_ call: CallContext) -> Bool
}
