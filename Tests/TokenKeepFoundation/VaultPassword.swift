import TokenKeepCore
import TokenKeepEngine

extension FoundationWorld {
    /// Gives the vault a password.
    func setPassword(_ password: String) throws {
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = directory.path + "/vault"
        _ = try Store(configuration).passwords.set(SecretBytes(password))
    }
}
