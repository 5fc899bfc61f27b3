import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep sync`.
struct SyncCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Give modules the changes that they missed.",
        discussion: """
            A save or a clear that a module missed is pending for it. Each later use of the item drains it; this command drains \
            all items of all namespaces, for the modules of this stack. Exit code 4: something is left, because a module of \
            this stack still cannot take it. Writes that are pending for other modules are named in a warning. The timeout \
            is that of each item.

              tokenkeep sync
              tokenkeep status        # what is pending, for which module, since when
            """.withWholeExamples)

    @OptionGroup
    var options: ExplainedStoreOptions

    func run(_ store: Store) throws {
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.pendingChanges.sync(until: store.longDeadline) { bar.show(done: $0, of: $1) }
        }
        if let problem = outcome.problem { Terminal.warn(problem) }
        try SyncCommand.warnOfOthers(store)
        try Terminal.write("drained \(outcome.drained), left \(outcome.left)\n")
        guard outcome.left == 0 else { throw SyncCommand.unfinished(outcome) }
    }

    /// Warns of the pending changes of modules to which this stack does not write.
    ///
    /// Without this warning, a user would conclude from "left 0" that no change is pending for any module.
    private static func warnOfOthers(_ store: Store) throws(TokenKeepError) {
        let pending = Dictionary(grouping: try store.pendingChanges.elsewhere(), by: \.module)
        for (module, pending) in pending.sorted(by: { $0.key < $1.key }) {
            Terminal.warn(
                TokenKeepError(
                    .unavailable,
                    "still pending for \(module), which this stack does not write to: \(PendingText.counts(pending))",
                    hint: "drain it with a stack that does: --stack NAME; if the module is gone for good: "
                        + "tokenkeep forget \(module)"))
        }
    }

    private static func unfinished(_ outcome: SyncOutcome) -> TokenKeepError {
        let verb = outcome.left == 1 ? "is" : "are"
        guard !outcome.pendingModules.isEmpty else {
            return TokenKeepError(
                .unavailable, "\(CountedNouns.items(outcome.left)) could not be drained",
                hint: "tokenkeep status says more")
        }
        let pending =
            "\(CountedNouns.items(outcome.left)) \(verb) still pending for \(outcome.pendingModules.joined(separator: " and "))"
        if let obstacle = outcome.obstacle {
            return TokenKeepError(
                .unavailable, "\(pending): \(obstacle.message)", hint: obstacle.hint ?? "tokenkeep status says more")
        }
        return TokenKeepError(
            .unavailable, pending,
            hint: "tokenkeep status says what is wrong with it; if it is gone for good: "
                + "tokenkeep forget \(outcome.pendingModules.first ?? "MODULE")")
    }
}

/// Runs `body`, which draws the progress bar, and removes the bar afterwards.
func withBar<Result>(
    _ bar: ProgressBar, _ body: () throws(TokenKeepError) -> Result
) throws(TokenKeepError) -> Result {
    defer { bar.end() }
    return try body()
}
