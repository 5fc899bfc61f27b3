import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep run -- COMMAND`.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run a command with secrets, or for which alone the vault is unlocked.",
        discussion: """
            A reference names an item, percent-encoded: tokenkeep://[NAMESPACE@]SERVICE/ACCOUNT. Every variable of the \
            environment or of a file whose whole value is a reference becomes the secret. /proc/PID/environ and reports \
            of crashes show variables; the secret behind a descriptor (--fd) is in neither. If one secret cannot be \
            loaded, or has expired, the command does not start.

              tokenkeep run --env NPM_TOKEN=tokenkeep://npm/ann -- npm publish
              tokenkeep run --fd TOKEN_FILE=tokenkeep://example.com/ann -- sh -c 'deploy --token-file "$TOKEN_FILE"'

            Without a reference, or with a password option, the vault is unlocked for the command.

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

    @OptionGroup
    var secretOptions: RunSecretOptions

    @Flag(help: "Read the password from standard input: one line.")
    var stdin = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    /// The maximum time, in milliseconds, to wait for the writer of a pipe with variables, if `--timeout` is absent.
    private static let longestWait: UInt32 = 120_000

    func run() throws {
        guard let program = command.first, !program.isEmpty else {
            throw TokenKeepError(.invalid, "no command is given", hint: "tokenkeep run -- COMMAND")
        }
        let secrets = try RunSecrets(
            options: secretOptions, namespace: options.namespace,
            until: Deadline(milliseconds: options.limit() ?? RunCommand.longestWait))
        if secrets.hasReferences, !stdin, options.passwordOptions.source() == nil {
            try secrets.handOver { namespace throws(TokenKeepError) in try open(namespace) }
        } else {
            try unlock(handingOver: secrets)
        }
        throw ProgramExecution.become(program, command)
    }

    /// Unlocks the vault only for the command: loads the secrets, and passes the vault's keys to the command through a
    /// descriptor.
    private func unlock(handingOver secrets: RunSecrets) throws(TokenKeepError) {
        let keys = ClassKeyStore(obstacle: "the keys are for one command")
        let store = try open(options.namespace, keys)
        let descriptor = try descriptor(of: store, isNeeded: !secrets.hasReferences)
        try secrets.handOver { namespace throws(TokenKeepError) in
            namespace == store.namespace ? store : try open(namespace, keys)
        }
        if let descriptor { setenv(InheritedKeys.variable, "\(descriptor)", 1) }
        hidePassword()
    }

    /// Unlocks the vault, and makes a descriptor from which the command reads the keys.
    ///
    /// - Returns: nil if the vault has no password, the keys are not needed, and no option gives a password.
    private func descriptor(of store: Store, isNeeded: Bool) throws(TokenKeepError) -> Int32? {
        do throws(TokenKeepError) {
            return try store.unlockForProcessTree(options.password(of: store, inInput: stdin))
        } catch {
            let isAsked = isNeeded || stdin || options.passwordOptions.isGiven
            guard error.status == .unsupported, !isAsked else { throw error }
            return nil
        }
    }

    private func open(_ namespace: String, _ keys: ClassKeyStore? = nil) throws(TokenKeepError) -> Store {
        var options = self.options
        options.namespace = namespace
        return try options.open(nil, residentKeys: keys)
    }

    /// Hides the password from the command, which gets keys instead. With the password, the command could open the
    /// vault at any later time.
    private func hidePassword() {
        options.passwordOptions.source()?.hide()
        if stdin { PasswordSource.hideStandardInput() }
        unsetenv(PasswordOptions.variable)
    }
}
