import CGcrypt
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepTerminal

/// Serves the vault until the program must end.
func run(_ options: ProviderOptions) throws(TokenKeepError) {
    tokenkeep_forbid_cores()
    tokenkeep_share_heap()
    tokenkeep_allow_descriptors()
    guard tokenkeep_gcrypt_start() == 0 else { throw TokenKeepError(.internal, "libgcrypt cannot be used") }
    let provider = try Provider(
        try Bus(), try Store(StoreConfiguration(stackText: "any required vault")), options)
    try StartUnlock.unlock(provider.store, options)
    // Handle signals before the program owns its names, because a program that sees the owner of a name may send it a
    // signal.
    let signals = tokenkeep_signals_open()
    try provider.register()
    try provider.requestNames()
    if let descriptor = options.readyDescriptor {
        var byte: UInt8 = 1
        _ = write(descriptor, &byte, 1)
        close(descriptor)
    }
    try provider.serve(signals)
}

do throws(TokenKeepError) {
    let options = try ProviderOptions(Array(CommandLine.arguments.dropFirst()))
    if options.showsHelp {
        print(ProviderOptions.help)
    } else if options.showsVersion {
        print("tokenkeep-secret-service \(TokenKeepVersion.string)")
    } else {
        switch options.command {
        case "run":
            exit(
                try RunCommand.run(
                    options.words, options.passedOn, passwordDescriptor: options.passwordDescriptor))
        case "enable": try EnableCommands.enable(replacing: options.replaces)
        case "disable": try EnableCommands.disable()
        case "status": try EnableCommands.status(json: options.json)
        case "import": try ImportCommand.run(options)
        case "unlock-keyring": try UnlockKeyringCommand.run(options)
        case "unlock-running": try ClientCommands.unlock()
        case "lock-running": try ClientCommands.lock()
        default:
            // On the private bus of the command `run`, this provider does not give way to another installed keyring.
            if options.readyDescriptor == nil { Yielding.yieldIfReplaced() }
            try run(options)
        }
    }
} catch {
    Log.line(error.hint.map { "\(error.message) (\($0))" } ?? error.message)
    exit(error.status.exitCode)
}
