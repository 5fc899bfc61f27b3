import ArgumentParser
import TokenKeepCore
import TokenKeepStack

/// `tokenkeep status`.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show each module: whether it can be used, and where its items are.",
        discussion: """
            Nothing is changed. A module that cannot be used is no failure of this command.

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
            ["module \(report.module): \(report.problem == nil ? "reachable" : "out of reach")"]
                + ([report.place] + problemLines(report.problem) + report.notes).map { "  " + Terminal.printable($0) }
        }
        let memory =
            status.isMemoryLocked
            ? ["secrets in memory: locked, never swapped out"]
            : ["secrets in memory: not locked, may be swapped out", "  hint: raise the limit that ulimit -l shows"]
        return (modules + memory).map { $0 + "\n" }.joined()
    }

    private static func problemLines(_ problem: TokenKeepError?) -> [String] {
        guard let problem else { return [] }
        return [problem.message] + (problem.hint.map { ["hint: \($0)"] } ?? [])
    }
}
