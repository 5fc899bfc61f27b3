import ArgumentParser
import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

/// `tokenkeep session begin SERVICE ACCOUNT`.
struct SessionBeginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "begin",
        abstract: "Begin a session with the token response on standard input.",
        discussion: """
            The response is the server's answer as it came: a JSON object, or a form, with access_token, and usually \
            refresh_token and expires_in (RFC 6749 section 5.1). A present session of the account is replaced. The \
            first session of a service becomes its active one.

            --refresh-level keeps the refresh token as an item of its own, at a stricter level: while that level is \
            locked, the access token is used to its end and nothing is renewed.

            --rotation says what the server does with a refresh token that was used: strict, it is dead (the default, \
            and safe everywhere); overlap=SECONDS, it is valid for so long; none, it stays the same.

              curl -s "$TOKEN_URL" -d @grant | tokenkeep session begin api.example.com ann --rotation overlap=60
              printf %s "$TOKEN" | tokenkeep session begin api.example.com ann --raw
            """.withWholeExamples)

    @Argument(help: "What the session is for.")
    var service: String

    @Argument(help: "Whose it is.")
    var account: String

    @Flag(help: "The session of a visitor without an account; it lasts 15 minutes if the response does not say.")
    var guest = false

    @Flag(help: "Standard input is a bare access token, which cannot be renewed.")
    var raw = false

    @Option(
        help: ArgumentHelp(
            "The provider, whose file names the server's endpoints: see tokenkeep provider.", valueName: "name"))
    var provider: String?

    @OptionGroup
    var profile: SessionProfileOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let known = try provider.flatMap { name throws(TokenKeepError) in
            try ProviderFiles.standard.named(name)
        }
        var options = try profile.options()
        if let timeout = storeOptions.timeout { options.timeoutMilliseconds = try Durations.timeout(timeout) }
        options.provider = provider
        options.rotation = options.rotation ?? known?.rotation
        let session = try SessionEngine(storeOptions.open(), service: service, account: account, options)
        let input = try SecretInput.withoutNewline(SecretInput.read(for: session.name))
        if raw {
            guard !guest else { throw TokenKeepError(.invalid, "--raw excludes --guest") }
            try session.begin(rawToken: input)
        } else {
            try session.begin(guest ? .guest : .user, response: input)
        }
    }
}
