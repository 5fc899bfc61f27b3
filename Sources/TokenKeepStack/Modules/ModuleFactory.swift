import TokenKeepCore
import TokenKeepSecretService
import TokenKeepVault

/// Makes the modules that stack lines name.
struct ModuleFactory {
    let vault: Vault
    let arena: SecretArena
    let versionKeys: VersionKeys
    /// The message bus instead of the session's, for tests.
    let busAddress: String?
    /// What stands in for the Secret Service, for tests.
    let makeSecretService: (@Sendable (@escaping VersionKeyProvider) -> any Module)?

    /// Makes the module of a line.
    ///
    /// - Throws: ``Status/invalid`` where there is no such module or it takes no such argument.
    func make(_ line: StackLine) throws(TokenKeepError) -> any Module {
        var arguments = ModuleArguments(line)
        let module: any Module
        switch line.module {
        case "vault": module = VaultModule(vault: vault)
        case "memory": module = MemoryModule(arena: arena)
        case "secret-service":
            let timeout = try arguments.takeTimeout() ?? 5000
            module = DebtorModule(base: secretService(timeout), vault: vault, machine: .current)
        default:
            throw TokenKeepError(
                .invalid, "there is no module \"\(line.module)\"",
                hint: "the modules are: secret-service, vault, memory", isAbsence: true)
        }
        try arguments.end()
        return module
    }

    private func secretService(_ timeout: UInt32) -> any Module {
        let keys = versionKeys
        let provider: VersionKeyProvider = { () throws(TokenKeepError) in try keys.current() }
        if let makeSecretService { return makeSecretService(provider) }
        return SecretServiceModule(
            arena: arena, timeoutMilliseconds: timeout, address: busAddress, versionKey: provider)
    }
}
