import ArgumentParser

/// `tokenkeep module …`.
struct ModuleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "module",
        abstract: "List the modules that a stack can name, or check one.",
        discussion: """
            A module keeps items: one of those built in, a shared object or a program.

              tokenkeep module list
              tokenkeep module check ./keyctl.so
            """.withWholeExamples,
        subcommands: [ModuleListCommand.self, ModuleCheckCommand.self])

    func run() throws {
        throw UsageError.missingCommand(of: "module")
    }
}
