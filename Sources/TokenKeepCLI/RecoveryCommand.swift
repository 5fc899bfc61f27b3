import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// `tokenkeep recovery …`.
struct RecoveryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery",
        abstract: "Make a recovery code for a forgotten password, or use it.",
        discussion: """
            The code is shown once. Keep it on paper, not beside the vault: who has both opens it.

              tokenkeep recovery create
              tokenkeep recovery use
            """,
        subcommands: [Create.self, Use.self])

    func run() throws { throw UsageError.missingCommand(of: "recovery") }

    /// `tokenkeep recovery create`.
    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make a recovery code and write it to standard output. An earlier one is void.")

        @Flag(help: "Read the password from standard input: one line.")
        var stdin = false

        @OptionGroup(title: "Store options")
        var storeOptions: StoreOptions

        func run() throws {
            let store = try storeOptions.open()
            let password = try PasswordInput.line(inInput: stdin, orAsk: PasswordInput.password)
            let code = try store.createRecoveryCode(password: password)
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
    struct Use: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "use",
            abstract: "Give the vault a new password by its recovery code.",
            discussion: """
                The code stays good. Items that ask for the password at each use cannot be recovered: no code opens them. \
                The vault is unlocked then.
                """)

        @Flag(help: "Read from standard input: a line with the code, a line with the new password.")
        var stdin = false

        @OptionGroup(title: "Store options")
        var storeOptions: StoreOptions

        func run() throws {
            let store = try storeOptions.open()
            let given =
                stdin
                ? try PasswordInput.lines(2)
                : [try HiddenInput.ask("recovery code: ", .code), try PasswordInput.newPassword()]
            try changingKeys { (_) throws(TokenKeepError) in
                try store.recover(code: given[0], newPassword: given[1])
            }
        }
    }
}
