import TokenKeepCore
import TokenKeepVault

/// Makes the modules that stack lines name.
struct ModuleFactory {
    let vault: Vault
    let arena: SecretArena

    /// Makes the module of a line.
    ///
    /// - Throws: ``Status/invalid`` where there is no such module or it takes no such argument.
    func make(_ line: StackLine) throws(TokenKeepError) -> any Module {
        if let argument = line.arguments.first {
            throw TokenKeepError(.invalid, "the module \(line.module) takes no argument \"\(argument)\"")
        }
        switch line.module {
        case "vault": return VaultModule(vault: vault)
        case "memory": return MemoryModule(arena: arena)
        default:
            throw TokenKeepError(
                .invalid, "there is no module \"\(line.module)\"", hint: "the modules are: vault, memory")
        }
    }
}
