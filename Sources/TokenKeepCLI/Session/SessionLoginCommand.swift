import ArgumentParser
import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

/// `tokenkeep session login SERVICE [ACCOUNT]`.
struct SessionLoginCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Sign in at a provider, and begin a session.",
        discussion: """
            The browser is opened and comes back to a port of this machine. Over ssh, or without a display, the \
            provider's device code is used, if it has one: open the address on any device and type the code. Else the \
            address is shown; open it anywhere, and paste the address to which the browser is sent. --flow chooses.

            Without ACCOUNT the account is that of the sign-in: ask for the scope openid. A present session of the \
            account is replaced once the sign-in has succeeded; if it was another provider's, its token waits for \
            tokenkeep session flush, which revokes it. A text that is not the address can be pasted again. The sign-in \
            ends after --timeout, 5 minutes if it is not given. Standard output stays empty.

              tokenkeep session login gitlab.com --provider gitlab --scope "openid read_api"
              tokenkeep session login api.example.com ann --provider work --flow device
            """.withWholeExamples)

    @Argument(help: "What the session is for.")
    var service: String

    @Argument(help: "Whose it is; without it the account that signs in.")
    var account: String?

    @Option(help: ArgumentHelp("The name of the provider: see tokenkeep provider list.", valueName: "name"))
    var provider: String

    @Option(help: ArgumentHelp("browser, device or paste.", valueName: "flow"))
    var flow: String?

    @Option(help: ArgumentHelp("The scopes, with spaces between them; else the provider's.", valueName: "scopes"))
    var scope: String?

    @Option(help: ArgumentHelp("The resource of the tokens (RFC 8707); else the provider's.", valueName: "uri"))
    var resource: String?

    @Option(help: ArgumentHelp("The audience of the tokens; else the provider's.", valueName: "name"))
    var audience: String?

    @Option(help: ArgumentHelp("The port for the browser; else the provider's, or any.", valueName: "number"))
    var port: UInt16?

    @Flag(name: .customLong("no-open"), help: "Show the address; open no browser.")
    var noOpen = false

    @OptionGroup
    var profile: SessionProfileOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    private static let normalTimeout: UInt32 = 300_000

    func run() throws {
        let milliseconds = try storeOptions.timeout.map { try Durations.timeout($0) } ?? Self.normalTimeout
        let deadline = Deadline(milliseconds: milliseconds)
        let file = try ProviderFiles.standard.existingProvider(named: provider)
        var sessionOptions = try profile.options()
        sessionOptions.whileSending = { isSending in isSending ? HeldSignals.hold() : HeldSignals.release() }
        let login = try SessionLogin(
            storeOptions.open(), service: service, account: account, at: file, signInOptions(), sessionOptions)
        let (session, signedIn) = try login.run(until: deadline, SignInPresentation().present)
        report(signedIn, session.name.account)
    }

    private func signInOptions() throws(TokenKeepError) -> SignInOptions {
        var options = SignInOptions()
        options.scope = SignInScope(scope: scope, resource: resource, audience: audience)
        options.port = port
        options.opensBrowser = !noOpen
        switch flow {
        case nil: break
        case "browser": options.flow = .browser
        case "device": options.flow = .device
        case "paste": options.flow = .paste
        default: throw TokenKeepError(.invalid, "--flow is browser, device or paste")
        }
        return options
    }

    private func report(_ signedIn: SignedIn, _ account: String) {
        Terminal.writeError("signed in as \(Terminal.printable(account))\n")
        if let scope = signedIn.otherScope {
            Terminal.writeError("the server granted other scopes than asked for: \(Terminal.printable(scope))\n")
        }
        if !signedIn.hasRefreshToken {
            Terminal.writeError(
                "the server gave no refresh token, so the session ends with its access token: most want the scope "
                    + "offline_access (docs/signing-in.md)\n")
        }
    }
}
