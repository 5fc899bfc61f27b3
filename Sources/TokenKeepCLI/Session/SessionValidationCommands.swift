import ArgumentParser
import TokenKeepCore
import TokenKeepSession

/// `tokenkeep session validate SERVICE [ACCOUNT]`.
struct SessionValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Ask the server whether it still accepts the token.",
        discussion: """
            --exec gets the access token and the purpose validate. It prints the answer as curl -i does: a status from \
            200 to 299 accepts the token, 401 refuses it. A refused token is renewed, once. Writes nothing.

              tokenkeep session validate api.example.com --exec ./refresh && echo "signed in"

            Exit codes: 1 nobody is signed in, 3 sign in again, 4 the server does not answer, 5 it refuses the renewed \
            token too, 6 it refuses the token, which cannot be renewed.
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    func run() throws { try session.open().validate() }
}

/// `tokenkeep session extend SERVICE [ACCOUNT] --by DURATION`.
struct SessionExtendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extend",
        abstract: "Ask the server to let the session last longer.",
        discussion: """
            --exec gets the access token, the purpose extend and TOKENKEEP_SECONDS. It prints the answer as for a refresh: \
            new tokens or a new expires_in are saved. Writes nothing.

              tokenkeep session extend api.example.com --by 1h --exec ./refresh
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @Option(help: ArgumentHelp("Five minutes to 365 days: 300 (seconds), 1h, 30d.", valueName: "duration"))
    var by: String

    func run() throws {
        let seconds = try SessionText.seconds(by, of: "--by")
        try session.open().extend(by: seconds)
    }
}
