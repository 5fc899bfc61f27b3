import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep sync`.
struct SyncCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Settle what modules missed while they were out of reach.",
        discussion: """
            What was saved or cleared while a module could not be reached is recorded. Each later use of an item settles \
            it; this command does it for all items of all namespaces, as far as it is owed to this stack's modules. Exit \
            code 4: something is left, because one of this stack's modules is still out of reach. What is owed to modules \
            that the stack does not write to is warned of. The timeout is that of each item.

              tokenkeep sync
              tokenkeep status        # what is owed, to whom, since when
            """)

    @OptionGroup
    var explainOptions: ExplainOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let store = try storeOptions.open(explainOptions)
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.sync(until: Deadline(milliseconds: .max)) { bar.show(done: $0, of: $1) }
        }
        if let problem = outcome.problem { Terminal.warn(problem) }
        try SyncCommand.warnOfOthers(store)
        try Terminal.write("settled \(outcome.drained), left \(outcome.left)\n")
        guard outcome.left == 0 else { throw SyncCommand.unfinished(outcome) }
    }

    /// Warns of the pending changes of modules that this stack does not write to.
    ///
    /// Without this warning, "left 0" would mean that no change is pending at all.
    private static func warnOfOthers(_ store: Store) throws(TokenKeepError) {
        let owed = Dictionary(grouping: try store.pendingElsewhere(), by: \.module)
        for (module, owed) in owed.sorted(by: { $0.key < $1.key }) {
            Terminal.warn(
                TokenKeepError(
                    .unavailable,
                    "still owed to \(module), which this stack does not write to: \(PendingText.counts(owed))",
                    hint: "settle it with a stack that does: --stack NAME; if the module is gone for good: "
                        + "tokenkeep forget \(module)"))
        }
    }

    private static func unfinished(_ outcome: SyncOutcome) -> TokenKeepError {
        let verb = outcome.left == 1 ? "is" : "are"
        guard !outcome.pendingModules.isEmpty else {
            return TokenKeepError(
                .unavailable, "\(Counts.items(outcome.left)) could not be settled", hint: "tokenkeep status says more")
        }
        let owed =
            "\(Counts.items(outcome.left)) \(verb) still owed to \(outcome.pendingModules.joined(separator: " and "))"
        if let obstacle = outcome.obstacle {
            return TokenKeepError(
                .unavailable, "\(owed): \(obstacle.message)", hint: obstacle.hint ?? "tokenkeep status says more")
        }
        return TokenKeepError(
            .unavailable, owed,
            hint: "tokenkeep status says what is wrong with it; if it is gone for good: "
                + "tokenkeep forget \(outcome.pendingModules.first ?? "MODULE")")
    }
}

/// Runs a body that draws the bar, and removes the bar before any other output.
func withBar<Result>(
    _ bar: ProgressBar, _ body: () throws(TokenKeepError) -> Result
) throws(TokenKeepError) -> Result {
    defer { bar.end() }
    return try body()
}
