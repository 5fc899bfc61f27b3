import TokenKeepCore
import TokenKeepSecretService
import TokenKeepVault

/// Makes the modules that stack lines name.
struct ModuleFactory {
    let vault: Vault
    let arena: SecretArena
    let versionKeys: VersionKeys

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
            module = SecretServiceModule(
                arena: arena, timeoutMilliseconds: try arguments.takeTimeout() ?? 5000,
                versionKey: { () throws(TokenKeepError) in try keys.current() })
        default:
            throw TokenKeepError(
                .invalid, "there is no module \"\(line.module)\"",
                hint: "the modules are: secret-service, vault, memory", isAbsence: true)
        }
        try arguments.end()
        return module
    }
}
