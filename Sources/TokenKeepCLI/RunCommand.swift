import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep run -- COMMAND`.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command for which the vault is unlocked, and for no other program.",
        discussion: """
            The command and the programs that it starts find the vault unlocked, also without the kernel's keyring. They \
            inherit the keys in a sealed memory file, whose descriptor \(InheritedKeys.variable) names. A program that \
            closes the descriptor, or that another user runs, finds the vault locked. Items of the level when-unlocked \
            are locked again three minutes later.

              tokenkeep run -- ./deploy.sh
              tokenkeep run --password-file /run/secrets/vault -- sh -c 'tokenkeep load example.com ann | ./deploy.sh'

            The exit code is the command's; 126 if it cannot be run, 127 if it is not found.
            """.withWholeExamples)

    @Argument(
        parsing: .postTerminator, help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"))
    var command: [String] = []

    @Flag(help: "Read the password from standard input: one line.")
    var stdin = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        guard let program = command.first, !program.isEmpty else {
            throw TokenKeepError(.invalid, "no command is given", hint: "tokenkeep run -- COMMAND")
        }
        let store = try storeOptions.open(residentKeys: ClassKeyStore(obstacle: "the keys are for one command"))
        let descriptor = try store.unlockForProcessTree(storeOptions.password(inInput: stdin))
        setenv(InheritedKeys.variable, "\(descriptor)", 1)
        hidePassword()
        let code = ProgramExecution.replaceProcess(program, command)
        Terminal.report(
            TokenKeepError(
                code == ENOENT ? .notFound : .io, "\(program) cannot be run: \(Terminal.describe(errno: code))"))
        throw ExitCode(code == ENOENT ? ExitCodes.noSuchCommand : ExitCodes.cannotRun)
    }

    /// The command gets keys, and not the password, which would open the vault for ever.
    private func hidePassword() {
        storeOptions.passwordOptions.source()?.hide()
        if stdin { PasswordSource.hideStandardInput() }
        unsetenv(PasswordOptions.variable)
    }
}
