import ArgumentParser
import TokenKeepCore

/// The root command of the program.
struct TokenKeepCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tokenkeep",
        abstract: "Keep session tokens: save, load and clear them, encrypted at rest.",
        discussion: """
            An item is one secret, named by a service and an account:

              printf %s "$TOKEN" | tokenkeep save example.com ann
              TOKEN=$(tokenkeep load example.com ann)
              tokenkeep clear example.com ann

            Exit codes: 0 done, 1 no such item or a problem that doctor found, 2 wrong usage, 3 locked or sign in again, 4 unavailable or out of \
            time, 5 refused or cancelled, 6 changed, expired or already there, 7 damaged, or the disk fails, 70 a fault \
            of tokenkeep itself; 126 and 127 a command that run or lock cannot start or does not find, 141 nobody reads \
            the output any more.
            """.withWholeExamples,
        version: "tokenkeep \(TokenKeepVersion.string)",
        subcommands: [
            SaveCommand.self, LoadCommand.self, ClearCommand.self, ListCommand.self, SearchCommand.self,
            WatchCommand.self,
            StatusCommand.self, ReadyCommand.self, DoctorCommand.self, ProtectionCommand.self, UnlockCommand.self,
            LockCommand.self,
            RunCommand.self,
            PasswordCommand.self, DeviceCommand.self, LoginCommand.self, AgentCommand.self, RecoveryCommand.self,
            ExportCommand.self,
            ImportCommand.self, SyncCommand.self, MigrateCommand.self,
            ForgetCommand.self, SetupCommand.self, HelperLinkCommand.self, VaultCommand.self, SessionCommand.self,
            FleetCommand.self, ProviderCommand.self, StackCommand.self,
            ModuleCommand.self, SecretServiceCommand.self,
        ])

    func run() throws {
        throw UsageError.missingCommand()
    }
}
