import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep load SERVICE ACCOUNT`.
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Write a secret to standard output.",
        discussion: """
            The bytes are written as they were saved; a newline follows on a terminal alone. An expired item is loaded \
            like any other.

              TOKEN=$(tokenkeep load example.com ann)
              tokenkeep load example.com ann > token.bin

            $( ) removes newlines at the end, and no shell variable holds a NUL: use a file or a pipe for such a secret.
            """)

    @Argument(help: "What the secret is for.")
    var service: String

    @Argument(help: "Whose it is.")
    var account: String

    @OptionGroup
    var explainOptions: ExplainOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let item = try storeOptions.open(explainOptions).load(service: service, account: account)
        try item.secret.withUnsafeBytes { try Terminal.write($0) }
        if isatty(STDOUT_FILENO) == 1 { try Terminal.write("\n") }
    }
}
