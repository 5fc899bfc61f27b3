import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep forget MODULE`.
struct ForgetCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Give up a module of this machine, or of all, and its pending writes.",
        discussion: """
            For a module that will not come back, as a keyring that was uninstalled. Until then its absence is an outage, \
            because it may hold items. Items that it was to get stay in the vault; its pending removals are given up. \
            If it comes back, a load finds the items that it still has: a stale token, if the stack asks it before the vault, \
            and cleared items. So a module that can be reached is not forgotten while writes are pending for it: \
            tokenkeep sync applies them. On a terminal you are asked before.

            Pending writes belong to a machine, and only that machine drains them. Those of a machine that is gone, or was \
            installed anew, are given up with --every-machine. Another machine that is still in use takes the absence of its \
            module for an empty one then, until it uses the module again.

              tokenkeep forget secret-service
              tokenkeep forget secret-service --every-machine
            """.withWholeExamples)

    @Argument(help: "The module's name, as tokenkeep status shows it.")
    var module: String

    @Flag(help: "Give up its pending writes on other machines too.")
    var everyMachine = false

    @Flag(help: "Do not ask.")
    var yes = false

    @Flag(help: "Forget it though it can be reached, and its pending writes could be applied.")
    var thoughReachable = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws {
        if !thoughReachable { try store.pendingChanges.checkIsAway(module: module) }
        try confirm(store)
        let outcome = try store.pendingChanges.forget(module: module, onEveryMachine: everyMachine)
        try Terminal.write(text(outcome))
        if let problem = outcome.problem {
            throw TokenKeepError(
                problem.status, "not every pending write for \(module) is forgotten: \(problem.message)",
                module: problem.module, hint: problem.hint)
        }
    }

    private func confirm(_ store: Store) throws {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1, Terminal.showsErrors else {
            throw TokenKeepError(
                .invalid, "forget asks before it does anything, and there is no terminal", hint: "add --yes")
        }
        let pending = try store.pendingChanges.report().entries.filter {
            $0.module == module && ($0.isOfThisMachine || everyMachine)
        }
        let items = CountedNouns.items(pending.count { !$0.isRemoval })
        let removals = CountedNouns.removals(pending.count { $0.isRemoval })
        if !pending.isEmpty {
            Terminal.writeError(Terminal.printable("if \(module) comes back, \(ForgetCommand.consequence)") + "\n")
        }
        Terminal.ask("forget \(module) on \(machines), with \(items) and \(removals) pending? [y/N] ")
        guard Terminal.agrees() else { throw TokenKeepError(.cancelled, "nothing was forgotten") }
    }

    private var machines: String { everyMachine ? "every machine" : "this machine" }

    private static let consequence = "a load may find the older items that it still has"

    private func text(_ outcome: ForgetOutcome) -> String {
        guard outcome.wasUsed || outcome.kept + outcome.givenUp > 0 else {
            return
                "\(module) was not used on \(everyMachine ? "any machine" : "this machine"), and nothing was pending for it\n"
        }
        let done = [
            outcome.kept > 0 ? "the vault keeps \(CountedNouns.items(outcome.kept)) that it was to get" : nil,
            outcome.givenUp > 0 ? "\(CountedNouns.removals(outcome.givenUp)) given up" : nil,
            outcome.kept + outcome.givenUp > 0 ? "if it comes back, \(ForgetCommand.consequence)" : nil,
        ]
        return (["forgot \(module)"] + done.compactMap { $0 }).joined(separator: "; ") + "\n"
    }
}
