import ArgumentParser
import TokenKeepCore

/// `tokenkeep secret-service`.
struct SecretServiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secret-service",
        abstract: "Serve the vault to programs that ask for a keyring (org.freedesktop.secrets).",
        discussion: """
            Programs that keep their tokens in the desktop's keyring find the vault instead, where there is no other \
            keyring: over ssh, in a container, in WSL, on a desktop without one.

              tokenkeep secret-service enable
              tokenkeep secret-service run -- gh auth login
            """.withWholeExamples,
        subcommands: [Run.self, Enable.self, Disable.self, Status.self])

    func run() throws { throw UsageError.missingCommand() }

    /// `tokenkeep secret-service run`.
    struct Run: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run",
            abstract: "Run a command with a message bus of its own, where the vault is the keyring.",
            discussion: """
                The bus and the provider end with the command. Needs dbus-daemon. The exit code is the command's; 126 if it \
                cannot be run, 127 if it is not found.

                  tokenkeep secret-service run --password-file /run/secrets/vault -- ./deploy.sh
                """.withWholeExamples)

        @Option(help: ArgumentHelp("Unlock the vault with the first line of a file.", valueName: "file"))
        var passwordFile: String?

        @Option(help: ArgumentHelp("Unlock the vault with the first line of a descriptor.", valueName: "n"))
        var passwordFd: Int32?

        @Argument(
            parsing: .postTerminator,
            help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"))
        var command: [String] = []

        func run() throws {
            guard command.first?.isEmpty == false else {
                throw TokenKeepError(
                    .invalid, "no command is given", hint: "tokenkeep secret-service run -- COMMAND")
            }
            var options: [String] = []
            if let passwordFile { options += ["--password-file", passwordFile] }
            if let passwordFd { options += ["--password-fd", "\(passwordFd)"] }
            throw SecretServiceProgram.become(["run"] + options + ["--"] + command)
        }
    }

    /// `tokenkeep secret-service enable`.
    struct Enable: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "enable",
            abstract: "Let the message bus start the provider when a program asks for a keyring.",
            discussion:
                "Refused if another keyring is installed or runs. A keyring that is installed later is started instead."
        )

        @Flag(help: "Also if another keyring is installed.")
        var replace = false

        func run() throws { throw SecretServiceProgram.become(["enable"] + (replace ? ["--replace"] : [])) }
    }

    /// `tokenkeep secret-service disable`.
    struct Disable: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "disable", abstract: "Remove what enable wrote.")

        func run() throws { throw SecretServiceProgram.become(["disable"]) }
    }

    /// `tokenkeep secret-service status`.
    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show which program serves org.freedesktop.secrets.",
            discussion: "Exits with 4 if the provider neither serves nor is enabled.")

        @Flag(help: "Write a JSON object.")
        var json = false

        func run() throws { throw SecretServiceProgram.become(["status"] + (json ? ["--json"] : [])) }
    }
}
