/// Names that a provider of `org.freedesktop.secrets`, `tokenkeep-secret-service`, owns on the message bus besides that one.
package enum ProviderName {
    /// The name of every provider.
    package static let own = "org.tokenkeep.SecretService1"

    /// The name of the provider that serves a vault; nil if the vault's identifier is not in hexadecimal digits.
    ///
    /// The bus answers who owns the name, also while the provider itself does not answer.
    package static func ofVault(_ identifier: String) -> String? {
        guard !identifier.isEmpty, identifier.utf8.allSatisfy({ HexadecimalDigit.value($0) != nil }) else { return nil }
        return "\(own).vault_\(identifier)"
    }
}
