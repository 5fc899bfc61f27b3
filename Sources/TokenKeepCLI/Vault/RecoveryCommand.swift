import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// `tokenkeep recovery …`.
struct RecoveryCommand: CommandGroup {
    static let configuration = CommandConfiguration(
        commandName: "recovery",
        abstract: "Make a recovery code for a forgotten password, or use it.",
        discussion: """
            The code is shown once. Keep it on paper, not beside the vault: who has both opens it.

              tokenkeep recovery create
              tokenkeep recovery use
            """.withWholeExamples,
        subcommands: [Create.self, Use.self])

    /// `tokenkeep recovery create`.
    struct Create: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make a recovery code and write it to standard output. An earlier one is void.")

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let password = try options.password(of: store, inInput: stdin)
            let code = try store.passwords.createRecoveryCode(password: password)
            do {
                try code.withUnsafeBytes { try Terminal.write($0) }
                try Terminal.write("\n")
            } catch {
                throw TokenKeepError(
                    .io, "the recovery code could not be written, and an earlier one is void",
                    hint: "make another one: tokenkeep recovery create")
            }
        }
    }

    /// `tokenkeep recovery use`.
    struct Use: StoreCommand {
        static let configuration = CommandConfiguration(
            commandName: "use",
            abstract: "Give the vault a new password by its recovery code.",
            discussion: """
                The code stays good. Items that ask for the password at each use, and those of the level \
                when-passcode-set-this-device-only, cannot be recovered: no code opens them. The vault is unlocked then.
                """)

        @Flag(help: "Destroy the items that only this vault's device opens, if it does not answer.")
        var destroyItems = false

        @Flag(
            help:
                "Read from standard input: a line with the code, a line with the new password unless an option gives it."
        )
        var stdin = false

        @OptionGroup
        var newPasswordOptions: NewPasswordOptions

        @OptionGroup(title: "Store options")
        var options: StoreOptions

        func run(_ store: Store) throws {
            let (code, new) = try codeAndPassword()
            try changingKeys(of: store) { (_) throws(TokenKeepError) in
                try store.passwords.recover(code: code, newPassword: new, isDestroying: destroyItems)
            }
        }

        private func codeAndPassword() throws(TokenKeepError) -> (SecretBytes, SecretBytes) {
            guard stdin else {
                return (
                    try HiddenInput.ask("recovery code: ", .code),
                    try newPasswordOptions.password(within: options.limit())
                )
            }
            guard let source = newPasswordOptions.source() else {
                let lines = try PasswordInput.lines(2)
                PasswordInput.explainRisks(of: lines[1])
                return (lines[0], lines[1])
            }
            return (try PasswordInput.lines(1)[0], try PasswordInput.newPassword(or: source, within: options.limit()))
        }
    }
}
