import CGcrypt
import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// Runs the program, and returns its exit code.
func run(_ options: ProviderOptions) throws(TokenKeepError) {
    tokenkeep_forbid_cores()
    guard tokenkeep_gcrypt_start() == 0 else { throw TokenKeepError(.internal, "libgcrypt cannot be used") }
    let provider = try Provider(
        try Bus(), try Store(StoreConfiguration(stackText: "any required vault")), options)
    try provider.unlockAtStart()
    try provider.register()
    try provider.requestNames()
    if case .failed(let error) = provider.serve() { throw error }
}

do throws(TokenKeepError) {
    let options = try ProviderOptions(Array(CommandLine.arguments.dropFirst()))
    if options.showsHelp {
        print(ProviderOptions.help)
    } else if options.showsVersion {
        print("tokenkeep-secret-service \(TokenKeepVersion.string)")
    } else {
        try run(options)
    }
} catch {
    Log.line(error.hint.map { "\(error.message) (\($0))" } ?? error.message)
    exit(ExitCode.of(error.status))
}
