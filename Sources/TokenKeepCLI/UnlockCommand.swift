import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// `tokenkeep unlock`.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the vault with its password, for all your programs.",
        discussion: """
            Items of the level when-unlocked are locked again with the screen if the agent runs (tokenkeep help agent), else \
            three minutes later; the others with tokenkeep lock or when the machine is switched off. Items that other modules hold under older keys are sealed anew.

              tokenkeep unlock
              tokenkeep unlock --password-file /run/secrets/vault

            Without the kernel's keyring, as in many containers, nothing can stay unlocked: see tokenkeep help run.
            """.withWholeExamples)

    @Flag(help: "Read the password from standard input: one line.")
    var stdin = false

    @Flag(help: "Accept an older header, which you put back, though the TPM knows a later one.")
    var acceptOlderHeader = false

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let store = try storeOptions.open()
        let password = try storeOptions.password(inInput: stdin)
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

    /// The error for an unlocked vault that is locked again when this program ends.
    static func cannotLast(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .unsupported, "the password is right, but nothing stays unlocked: \(reason)",
            hint:
                "for one command and the programs that it starts: tokenkeep run -- COMMAND; or give each command the password: --password-file FILE"
        )
    }
}
