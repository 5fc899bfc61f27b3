import ArgumentParser

/// `tokenkeep stack …`.
struct StackCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stack",
        abstract: "Show a stack as it is used, or check the file of one.",
        discussion: """
            A stack says which modules are asked in which order. Its file is NAME.conf in \
            $XDG_CONFIG_HOME/tokenkeep/stack.d or in /etc/tokenkeep/stack.d.

              tokenkeep stack show
              tokenkeep stack check work.conf
            """.withWholeExamples,
        subcommands: [StackShowCommand.self, StackCheckCommand.self])

    func run() throws {
        throw UsageError.missingCommand(of: "stack")
    }
}
