import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords
import TokenKeepSession

/// `tokenkeep status`.
struct StatusCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show each module: whether it can be used, where its items are, what is pending for it.",
        discussion: """
            Nothing is changed. A module that cannot be used is no failure of this command. A module that missed a save or a \
            clear gets it later: such writes and removals are pending. Sessions whose tokens wait for their place to open, \
            and tokens that wait to be revoked, are named.

              tokenkeep status
              tokenkeep status --json
            """.withWholeExamples)

    @OptionGroup
    var options: JSONStoreOptions

    func run(_ store: Store) throws {
        let status = try store.status()
        // Ignore an error of an unreadable vault here, because the vault is also a module, whose error is reported.
        let waiting = try? Sessions(store).waiting()
        let text =
            try options.json
            ? JSONOutput.text(JSONOutput.State(status, waiting, LastLogin.read(store.records)))
            : StatusCommand.text(status, waiting, LastLogin.read(store.records))
        try Terminal.write(text)
    }

    private static func text(_ status: StoreStatus, _ waiting: Sessions.Waiting?, _ login: LastLogin?) -> String {
        let modules = status.modules.flatMap { report in
            ["module \(report.module): \(report.problem == nil ? "reachable" : "unusable")"]
                + ([report.place] + problemLines(report.problem) + report.remarks).map { "  " + Terminal.printable($0) }
        }
        let memory =
            status.isMemoryLocked
            ? ["secrets in memory: locked, never swapped out"]
            : ["secrets in memory: not locked, may be swapped out", "  hint: raise the limit that ulimit -l shows"]
        let lines =
            modules + PendingText.lines(status.pending) + pendingProblem(status) + sessions(waiting)
            + (login?.problemLines ?? []) + memory
        return lines.map { $0 + "\n" }.joined()
    }

    private static func sessions(_ waiting: Sessions.Waiting?) -> [String] {
        guard let waiting else { return [] }
        let stashed =
            waiting.stashed == 0
            ? []
            : [
                "sessions whose tokens wait for their place to open: \(waiting.stashed)",
                "  a restart of the machine would lose them; the next call after the unlock saves them",
            ]
        switch waiting.hasOutbox {
        case true?: return stashed + ["tokens wait to be revoked: tokenkeep session flush"]
        case false?: return stashed
        case nil: return stashed + ["tokens may wait to be revoked: they cannot be listed now"]
        }
    }

    /// Returns the lines about an error because of which the pending changes cannot be read.
    ///
    /// Empty if a module already reports an error with the same message.
    private static func pendingProblem(_ status: StoreStatus) -> [String] {
        guard let problem = status.pending.problem,
            !status.modules.contains(where: { $0.problem?.message == problem.message })
        else { return [] }
        return ["the pending writes cannot be read:"] + problemLines(problem).map { "  " + Terminal.printable($0) }
    }

    private static func problemLines(_ problem: TokenKeepError?) -> [String] {
        guard let problem else { return [] }
        return [problem.message] + (problem.hint.map { ["hint: \($0)"] } ?? [])
    }
}

/// `tokenkeep ready`.
struct ReadyCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "ready",
        abstract: "Tell at once whether items can be loaded, or saved: before a sign-in is shown.",
        discussion: """
            Never prompts and changes nothing. Exit code 0: ready; 3: a user must unlock the vault or the keyring first; 4: no \
            place for the items can be reached; 5: the vault cannot be made in its place.

              tokenkeep ready --save && ./sign-in.sh
            """.withWholeExamples)

    @Flag(help: "Whether items can be saved.")
    var save = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws { try store.checkReady(forSaving: save) }
}
