import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// `tokenkeep lock`.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the vault for all your programs.",
        discussion: """
            Without an option, and with --all, every item is locked until the next unlock. With --screen only those of the \
            level when-unlocked. A locker that does not tell login1 that the screen is locked is run by this command: it tells \
            login1, and that the screen is open when the locker ends with 0. The locker must not go to the background.

              tokenkeep lock
              tokenkeep lock --screen -- swaylock
            """.withWholeExamples)

    @Flag(help: "Lock all items: what is done without an option too.")
    var all = false

    @Flag(help: "Lock the items of the level when-unlocked alone.")
    var screen = false

    @Argument(
        parsing: .postTerminator,
        help: ArgumentHelp("A screen locker and its arguments, after --.", valueName: "locker"))
    var locker: [String] = []

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func validate() throws {
        guard !(all && screen) else { throw ValidationError("--all and --screen exclude each other") }
        guard locker.isEmpty || screen else { throw ValidationError("a locker is run with --screen alone") }
    }

    func run() throws {
        guard let program = locker.first else { return try lockVault() }
        // Remove the keys without reading a file, because a file system may hang. If the removal fails, still lock the
        // screen.
        do throws(TokenKeepError) {
            try ClassKeyStore().removal.purgeScreenKeys()
        } catch {
            Terminal.warn(error)
        }
        Terminal.warn(AgentProgram.become(["locker", "--"] + locker))
        throw ProgramExecution.become(program, locker)
    }

    private func lockVault() throws {
        let reason = try options.open().lock(screen ? .screen : .all)
        if !screen { SecretServiceProgram.lock() }
        guard let reason else { return }
        Terminal.explain("locked for this program alone; others may have the vault unlocked: \(reason)")
    }
}

/// `tokenkeep unlock`.
struct UnlockCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the vault with its password, for all your programs.",
        discussion: """
            Items of the level when-unlocked are locked again with the screen if the agent runs (tokenkeep help agent), else \
            three minutes later; the others with tokenkeep lock or when the machine is switched off. Items that other modules hold under older keys are sealed anew.

              tokenkeep unlock
              tokenkeep unlock --password-file /run/secrets/vault

            With --keyring the password is the keyring's, for gnome-keyring and others that take one without a window: over \
            ssh, the login keyring that no login has unlocked.

              tokenkeep unlock --keyring

            Without the kernel's keyring, as in many containers, nothing can stay unlocked: see tokenkeep help run.
            """.withWholeExamples)

    @Flag(help: "Read the password from standard input: one line.")
    var stdin = false

    @Flag(help: "Unlock the desktop's keyring instead, with its own password.")
    var keyring = false

    @Flag(help: "Accept an older header, which you put back, though the TPM knows a later one.")
    var acceptOlderHeader = false

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func validate() throws {
        guard keyring else { return }
        guard !acceptOlderHeader, options.stack == nil, options.namespace.isEmpty, options.timeout == nil else {
            throw ValidationError("--keyring excludes --accept-older-header, --stack, --namespace and --timeout")
        }
        guard !stdin || !options.passwordOptions.isGiven else {
            throw ValidationError("--stdin excludes --password-file and --password-fd")
        }
    }

    func prepare() throws {
        guard keyring else { return }
        // The environment names the vault's password, which the keyring must not get.
        let words = stdin ? ["--password-fd", "0"] : options.passwordOptions.givenWords
        throw SecretServiceProgram.become(["unlock-keyring"] + words)
    }

    func run(_ store: Store) throws {
        let password = try options.password(of: store, inInput: stdin)
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.unlock(
                password, until: store.longDeadline, isAcceptingOlder: acceptOlderHeader
            ) { bar.show(done: $0, of: $1) }
        }
        if let problem = outcome.problem { Terminal.warn(problem) }
        reportUnreadable(outcome.unreadable)
        if let problem = outcome.screenKeyProblem {
            Terminal.explain("items of the level when-unlocked stay locked: \(problem)")
        }
        if let problem = outcome.deviceProblem {
            Terminal.explain("items of levels of this device stay locked: \(problem) (tokenkeep device show)")
        }
        if let reason = outcome.reasonForMemory {
            guard !SecretServiceProgram.unlock(password) else {
                return Terminal.explain("unlocked for programs that use org.freedesktop.secrets alone: \(reason)")
            }
            throw UnlockCommand.cannotLast(reason)
        }
    }

    /// Makes the error for a vault that stays unlocked only until this program ends.
    static func cannotLast(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the password is right, but nothing stays unlocked: \(reason)",
            hint:
                "for one command and the programs that it starts: tokenkeep run -- COMMAND; or give each command the password: --password-file FILE"
        )
    }
}
