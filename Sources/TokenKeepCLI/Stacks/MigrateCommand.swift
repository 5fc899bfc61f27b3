import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep migrate --from MODULE --to MODULE`.
struct MigrateCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Move items from one module of the stack to another.",
        discussion: """
            A load finds every item at every moment: the first module loses it when it was read back from the second. \
            After an interruption, run the command again: it completes what was begun. An item that cannot be moved is \
            named and stays. The exit code is that of the worst failure; the timeout is that of each item.

            A later save goes to the first module of the stack: change the order of its lines too.

              tokenkeep migrate --from secret-service --to vault --dry-run
              tokenkeep migrate --from vault --to secret-service --service example.com
            """.withWholeExamples)

    @Option(help: ArgumentHelp("Where the items are now.", valueName: "module"))
    var from: String

    @Option(help: ArgumentHelp("Where they go.", valueName: "module"))
    var to: String

    @Option(help: ArgumentHelp("Only items of this service.", valueName: "service"))
    var service: String?

    @Flag(help: "Only name the items that would be moved.")
    var dryRun = false

    @OptionGroup
    var options: ExplainedStoreOptions

    func run(_ store: Store) throws {
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.transfer.migrate(
                from: from, to: to, service: service, isDryRun: dryRun, until: store.longDeadline
            ) { bar.show(done: $0, of: $1) }
        }
        if dryRun {
            for name in outcome.items { try Terminal.write("would move \(Terminal.printable("\(name)"))\n") }
        }
        for failure in outcome.failures { Terminal.warn(failure.naming) }
        let left = outcome.failures.count
        try Terminal.write(
            dryRun
                ? "would move \(CountedNouns.items(outcome.moved)) from \(from) to \(to), and leave \(left)\n"
                : "moved \(CountedNouns.items(outcome.moved)) from \(from) to \(to), left \(left)\n")
        guard let worst = outcome.worst else { return }
        let verb = left == 1 ? "was" : "were"
        throw TokenKeepError(
            worst.status,
            dryRun ? "\(CountedNouns.items(left)) would be left" : "\(CountedNouns.items(left)) \(verb) not moved",
            hint: "mend what the warnings say, and run the command again")
    }
}

extension MigrationOutcome.Failure {
    /// The error, with a message that contains the item's name.
    fileprivate var naming: TokenKeepError {
        guard let item, !error.message.contains(item.description) else { return error }
        return TokenKeepError(error.status, "\(item): \(error.message)", module: error.module, hint: error.hint)
    }
}
