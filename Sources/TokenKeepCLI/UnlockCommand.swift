import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep unlock`.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the vault with its password, for all your programs.",
        discussion: """
            Items of the level when-unlocked are locked again three minutes later, the others with tokenkeep lock or when \
            the machine is switched off. Items that other modules hold under older keys are sealed anew.

              tokenkeep unlock
              tokenkeep unlock --password-file /run/secrets/vault

            Without the kernel's keyring, as in many containers, nothing can stay unlocked: see tokenkeep help run.
            """)

    @Flag(help: "Read the password from standard input: one line.")
    var stdin = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let store = try storeOptions.open()
        let password = try storeOptions.password(inInput: stdin)
        let bar = ProgressBar()
        let outcome = try withBar(bar) { () throws(TokenKeepError) in
            try store.unlock(password, until: Deadline(milliseconds: .max)) { bar.show(done: $0, of: $1) }
        }
        if let problem = outcome.problem { Terminal.warn(problem) }
        reportUnreadable(outcome.unreadable)
        if let reason = outcome.reasonForMemory { throw UnlockCommand.cannotLast(reason) }
    }

    /// The error for an unlocked vault that is locked again when this program ends.
    static func cannotLast(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the password is right, but nothing stays unlocked: \(reason)",
            hint:
                "for one command and the programs that it starts: tokenkeep run -- COMMAND; or give each command the password: --password-file FILE"
        )
    }
}

/// `tokenkeep lock`.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the vault for all your programs.",
        discussion: """
            Without an option, and with --all, every item is locked until the next unlock. With --screen only those of the \
            level when-unlocked: for a screen locker to run.

              tokenkeep lock
              swayidle before-sleep 'tokenkeep lock --screen'
            """)

    @Flag(help: "Lock all items: what is done without an option too.")
    var all = false

    @Flag(help: "Lock the items of the level when-unlocked alone.")
    var screen = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func validate() throws {
        guard !(all && screen) else { throw ValidationError("--all and --screen exclude each other") }
    }

    func run() throws {
        guard let reason = try storeOptions.open().lock(screen ? .screen : .all) else { return }
        Terminal.explain("locked for this program alone; others may have the vault unlocked: \(reason)")
    }
}
