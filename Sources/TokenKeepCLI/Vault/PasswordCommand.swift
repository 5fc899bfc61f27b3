import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// `tokenkeep password …`.
struct PasswordCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Give the vault a password, change it, or take it away.",
        discussion: """
            Without a password the vault's key lies beside its records. With one, who has the disk or a backup needs it.

              tokenkeep password set
              tokenkeep password change --compromised
            """.withWholeExamples,
        subcommands: [Set.self, Change.self, Remove.self])

    /// `tokenkeep password set`.
    struct Set: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Give the vault its first password.",
            discussion: """
                Every record is sealed anew: a backup from before opens nothing that is saved later. The vault is unlocked \
                then. After an interruption the vault is as it was: run this again. A forgotten password cannot be found out: see tokenkeep recovery create.
                """)

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup
        var slots: SlotOptions

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let password = try options.newPassword(inInput: stdin)
            try changingKeys(of: store) { (progress) throws(TokenKeepError) in
                try store.passwords.set(password, isDroppingUnknownSlots: slots.dropUnknownSlots, progress: progress)
            }
        }
    }

    /// `tokenkeep password change`.
    struct Change: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "change",
            abstract: "Replace the vault's password.",
            discussion: """
                With --compromised, for a password that somebody else may know, every record is sealed anew under other \
                keys and the recovery code ends. The vault is unlocked then.
                """)

        @Flag(help: "Replace the keys too.")
        var compromised = false

        @Flag(help: "Read from standard input: a line with the old password, a line with the new one.")
        var stdin = false

        @OptionGroup
        var newPasswordOptions: NewPasswordOptions

        @OptionGroup
        var slots: SlotOptions

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let (present, new) = try passwords(of: store)
            try changingKeys(of: store) { (progress) throws(TokenKeepError) in
                try store.passwords.change(
                    from: present, to: new, isCompromised: compromised,
                    isDroppingUnknownSlots: slots.dropUnknownSlots, progress: progress)
            }
            if compromised { Terminal.explain("an earlier recovery code is void: tokenkeep recovery create") }
        }

        private func passwords(of store: Store) throws(TokenKeepError) -> (present: SecretBytes, new: SecretBytes) {
            guard !stdin else {
                guard !options.passwordOptions.isGiven, newPasswordOptions.source() == nil else {
                    throw TokenKeepError(.invalid, "--stdin gives both passwords: it excludes files and descriptors")
                }
                let lines = try PasswordInput.lines(2)
                PasswordInput.explainRisks(of: lines[1])
                return (lines[0], lines[1])
            }
            let present = try options.password(of: store, inInput: false) { () throws(TokenKeepError) in
                try PasswordInput.password("present password of the vault: ")
            }
            return (present, try newPasswordOptions.password(within: options.limit()))
        }
    }

    /// `tokenkeep password remove`.
    struct Remove: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Take the vault's password away: its key lies beside its records again.",
            discussion: """
                Every record is sealed anew. Refused while items ask for protection that only a password gives, unless \
                they are destroyed.
                """)

        @Flag(help: "Destroy the items that cannot be kept without a password.")
        var destroyItems = false

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup
        var slots: SlotOptions

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let password = try options.password(of: store, inInput: stdin)
            try changingKeys(of: store) { (progress) throws(TokenKeepError) in
                try store.passwords.remove(
                    password, isDestroying: destroyItems, isDroppingUnknownSlots: slots.dropUnknownSlots,
                    progress: progress)
            }
        }
    }
}

/// The option of the commands that replace the vault's keys.
struct SlotOptions: ParsableArguments {
    @Flag(help: "End slots of types that this version does not know.")
    var dropUnknownSlots = false
}

/// Runs a change of keys and shows a progress bar. Then prints a note if the vault cannot stay unlocked, or if the
/// protection of a level is weaker because the TPM has no index.
func changingKeys(
    of store: Store, _ body: (@escaping JournalProgress) throws(TokenKeepError) -> UnlockOutcome
) throws(TokenKeepError) {
    let bar = ProgressBar()
    let outcome = try withBar(bar) { () throws(TokenKeepError) in try body { bar.show(done: $0, of: $1) } }
    if let problem = outcome.problem { Terminal.warn(problem) }
    reportUnreadable(outcome.unreadable)
    try DeviceCommand.explainIndex(store)
    guard let reason = outcome.reasonForMemory else { return }
    Terminal.explain("the vault is locked now, and cannot stay unlocked: \(reason)")
}

/// Prints the number of damaged records that a change of keys left unchanged. Prints nothing if there are none.
func reportUnreadable(_ count: Int) {
    guard count > 0 else { return }
    Terminal.explain(
        "\(count == 1 ? "1 record is" : "\(count) records are") left as found: damaged, no key opens what is in there")
}
