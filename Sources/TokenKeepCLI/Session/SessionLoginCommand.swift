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
            tokenkeep session flush, which revokes it. If another user has signed in than the one of the present session, or \
            than the address that ACCOUNT is, the sign-in is refused and revoked, unless --any-account is given. A text that is not the address can be pasted again. The sign-in \
            ends after --timeout, 5 minutes if it is not given. Standard output stays empty.

              tokenkeep session login gitlab.com --provider gitlab --scope "openid read_api"
              tokenkeep session login api.example.com ann --provider work --flow device
              tokenkeep session login api.example.com --provider work --add-scope write
              tokenkeep session login api.example.com --provider work --parameter prompt=select_account
            """.withWholeExamples)

    @Argument(help: "What the session is for.", completion: NameCompletion.sessionServices)
    var service: String

    @Argument(
        help: "Whose it is; without it the account that signs in.", completion: NameCompletion.sessionAccounts)
    var account: String?

    @Option(help: ArgumentHelp("The name of the provider: see tokenkeep provider list.", valueName: "name"))
    var provider: String

    @Option(help: ArgumentHelp("browser, device or paste.", valueName: "flow"))
    var flow: String?

    @Option(help: ArgumentHelp("The scopes, with spaces between them; else the provider's.", valueName: "scopes"))
    var scope: String?

    @Option(
        name: .customLong("add-scope"),
        help: ArgumentHelp(
            "Scopes beside those of the present session, which stays until they are granted.", valueName: "scopes"))
    var addScope: String?

    @Option(help: ArgumentHelp("The resource of the tokens (RFC 8707); else the provider's.", valueName: "uri"))
    var resource: String?

    @Option(help: ArgumentHelp("The audience of the tokens; else the provider's.", valueName: "name"))
    var audience: String?

    @Option(
        name: .customLong("parameter"),
        help: ArgumentHelp(
            "Another parameter of the request, for example prompt=login; in place of the provider's.",
            valueName: "name=value"))
    var parameters: [String] = []

    @Option(help: ArgumentHelp("The port for the browser; else the provider's, or any.", valueName: "number"))
    var port: UInt16?

    @Flag(name: .customLong("no-open"), help: "Show the address; open no browser.")
    var noOpen = false

    @Flag(name: .customLong("any-account"), help: "Keep the session, whoever signs in.")
    var anyAccount = false

    @OptionGroup
    var profile: SessionProfileOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    private static let normalTimeout: UInt32 = 300_000

    func run() throws {
        let milliseconds = try storeOptions.timeout.map { try Durations.timeout($0) } ?? Self.normalTimeout
        let deadline = Deadline(milliseconds: milliseconds)
        let file = try ProviderFiles.standard.named(provider)
        let store = try storeOptions.open()
        // Do not start a sign-in whose tokens cannot be saved. This check is not needed with --interactive, because the
        // save then prompts the user to unlock.
        if !storeOptions.interactive { try store.checkReady(forSaving: true) }
        var sessionOptions = try profile.options()
        sessionOptions.whileSending = { isSending in isSending ? HeldSignals.hold() : HeldSignals.release() }
        var login = try SessionSignIn(
            store, service: service, account: account, at: file, signInOptions(), sessionOptions)
        login.takesAnyone = anyAccount
        let (session, signedIn) = try login.run(until: deadline, SignInPresentation().present)
        report(signedIn, session.name.account)
    }

    private func signInOptions() throws(TokenKeepError) -> SignInOptions {
        var options = SignInOptions()
        guard scope == nil || addScope == nil else { throw TokenKeepError(.invalid, "--add-scope excludes --scope") }
        options.scope = SignInScope(scope: scope, resource: resource, audience: audience)
        options.scope.added = addScope
        for text in parameters {
            guard let equals = text.firstIndex(of: "=") else {
                throw TokenKeepError(.invalid, "--parameter is NAME=VALUE")
            }
            let name = try SignInScope.checked(parameter: String(text[..<equals]))
            options.scope.parameters[name] = String(text[text.index(after: equals)...])
        }
        options.port = port
        options.opensBrowser = !noOpen
        if Terminal.showsErrors {
            options.whenAnswered = {
                Terminal.writeError("the browser has answered; the server is asked for the tokens\n")
            }
        }
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
        let name = signedIn.person.map { $0.isCalled(account) ? "" : "; the server calls this user \($0.label)" } ?? ""
        Terminal.writeError("signed in as \(Terminal.printable(account))\(name)\n")
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
