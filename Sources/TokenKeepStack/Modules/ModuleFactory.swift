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
            let keys = versionKeys
            let service = SecretServiceModule(
                arena: arena, timeoutMilliseconds: try arguments.takeTimeout() ?? 5000, address: busAddress,
                versionKey: { () throws(TokenKeepError) in try keys.current() })
            module = DebtorModule(base: service, vault: vault, machine: .current)
        default:
            throw TokenKeepError(
                .invalid, "there is no module \"\(line.module)\"",
                hint: "the modules are: secret-service, vault, memory", isAbsence: true)
        }
        try arguments.end()
        return module
    }
}
