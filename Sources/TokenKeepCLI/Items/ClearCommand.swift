import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep clear SERVICE [ACCOUNT] [--all]`.
struct ClearCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove an item, or every item of a service.",
        discussion: """
            Clearing what is not there is no error.

              tokenkeep clear example.com ann
              tokenkeep clear example.com --all
            """.withWholeExamples)

    @Argument(help: "What the secret is for.", completion: NameCompletion.services)
    var service: String

    @Argument(help: "Whose it is.", completion: NameCompletion.accounts)
    var account: String?

    @Flag(help: "Remove every item of the service.")
    var all = false

    @Option(help: ArgumentHelp("Remove only this version, as load --json shows it.", valueName: "version"))
    var ifVersion: String?

    @OptionGroup
    var options: ExplainedStoreOptions

    func prepare() throws {
        switch (account, all) {
        case (nil, false):
            throw TokenKeepError(
                .invalid, "an account is missing", hint: "to remove every item of the service: --all")
        case (_?, true):
            throw TokenKeepError(
                .invalid, "an account and --all exclude each other",
                hint: "--all removes every item of the service")
        case (nil, true) where ifVersion != nil:
            throw TokenKeepError(.invalid, "--all and --if-version exclude each other")
        default: return
        }
    }

    func run(_ store: Store) throws {
        guard let account else {
            return try Terminal.write("cleared \(CountedNouns.items(store.clear(service: service)))\n")
        }
        if let ifVersion {
            try store.clear(service: service, account: account, ifVersion: Versions.parse(ifVersion))
        } else {
            try store.clear(service: service, account: account)
        }
    }
}
