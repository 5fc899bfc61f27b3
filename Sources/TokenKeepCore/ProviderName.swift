/// The bus names that `tokenkeep-secret-service` owns in addition to `org.freedesktop.secrets`.
package enum ProviderName {
    /// The bus name that every running provider owns.
    package static let own = "org.tokenkeep.SecretService1"

    /// The bus name of the provider that serves this vault; nil if `identifier` is not in hexadecimal digits.
    ///
    /// The bus itself reports the owner of a name, even while the provider does not answer.
    package static func ofVault(_ identifier: String) -> String? {
        guard !identifier.isEmpty, identifier.utf8.allSatisfy({ HexadecimalDigit.value($0) != nil }) else { return nil }
        return "\(own).vault_\(identifier)"
    }
}
