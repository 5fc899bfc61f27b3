import ArgumentParser

/// A command that only leads to its subcommands.
protocol CommandGroup: ParsableCommand {}

extension CommandGroup {
    /// Refuses the group without one of its commands.
    func run() throws { throw UsageError.missingCommand(of: Self.configuration.commandName) }
}
