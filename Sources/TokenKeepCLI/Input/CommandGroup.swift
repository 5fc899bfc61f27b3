import ArgumentParser

/// A command that has only subcommands.
protocol CommandGroup: ParsableCommand {}

extension CommandGroup {
    /// Throws a usage error, because the group was called without a subcommand.
    func run() throws { throw UsageError.missingCommand(of: Self.configuration.commandName) }
}
