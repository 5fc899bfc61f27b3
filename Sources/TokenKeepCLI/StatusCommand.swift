import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show each module: whether it can be used, where its items are, what is pending for it.",
        discussion: """
            Nothing is changed. A module that cannot be used is no failure of this command. A module that missed a save or a \
            clear gets it later: such writes and removals are pending.

              tokenkeep status
              tokenkeep status --json
            """)

    @Flag(help: "Write a JSON object.")
    var json = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let status = try storeOptions.open().status()
        try Terminal.write(json ? JSONOutput.text(JSONOutput.State(status)) : StatusCommand.text(status))
    }

    private static func text(_ status: StoreStatus) -> String {
        let modules = status.modules.flatMap { report in
            ["module \(report.module): \(report.problem == nil ? "reachable" : "unusable")"]
                + ([report.place] + problemLines(report.problem) + report.notes).map { "  " + Terminal.printable($0) }
        }
        let memory =
            status.isMemoryLocked
            ? ["secrets in memory: locked, never swapped out"]
            : ["secrets in memory: not locked, may be swapped out", "  hint: raise the limit that ulimit -l shows"]
        return (modules + PendingText.lines(status.pending) + pendingProblem(status) + memory).map { $0 + "\n" }
            .joined()
    }

    /// The lines about an error that keeps the pending changes from being read.
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
