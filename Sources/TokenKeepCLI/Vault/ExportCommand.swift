import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep export FILE`.
struct ExportCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write all items to a file, sealed under a passphrase.",
        discussion: """
            The items of all namespaces in all modules of the stack. Items that must not leave this machine are left out \
            and counted; a module that cannot list other namespaces is named. The file must not exist; it needs no vault to be read again.

              tokenkeep export backup.tokenkeep
            """.withWholeExamples)

    @Argument(help: "The file.", completion: .file())
    var file: String

    @Flag(help: "Leave locked items out instead of failing.")
    var partial = false

    @Flag(help: "Read the passphrase from standard input: one line.")
    var stdin = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func prepare() throws {
        guard stdin else { return }
        try options.passwordOptions.refuseStandardInput(because: "the passphrase is read from standard input")
    }

    func run(_ store: Store) throws {
        try ExportWriter.check(file)
        let passphrase = try PasswordInput.newPassphrase(inInput: stdin)
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.transfer.export(to: file, passphrase: passphrase, isPartial: partial) {
                bar.show(done: $0, of: $1)
            }
        }
        if let problem = outcome.lockedPlace { Terminal.warn(problem) }
        for module in outcome.modulesOfOneNamespace {
            Terminal.warn(
                TokenKeepError(
                    .unsupported, "its items of other namespaces are not in the file: it cannot say which it has",
                    module: module, hint: "export those too: --namespace NAME, into another file"))
        }
        let locked = partial ? ", locked \(outcome.locked)" : ""
        try Terminal.write("exported \(outcome.exported), left out \(outcome.leftOut)\(locked)\n")
    }
}
