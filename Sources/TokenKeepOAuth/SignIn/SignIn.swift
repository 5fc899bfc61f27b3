import Glibc
package import TokenKeepCore
import TokenKeepSession

/// The options of a sign-in.
package struct SignInOptions: Sendable {
    package var flow = SignInFlow.choose
    package var scope = SignInScope()
    /// The port at which to wait for the browser; nil for that of the provider's file, otherwise any port.
    package var port: UInt16?
    /// Whether to open the browser.
    package var opensBrowser = true
    /// Sleeps for a number of milliseconds, or until the deadline, which may be cancelled.
    package typealias Pause = @Sendable (UInt32, Deadline) -> Void
    /// Sleeps between two polls of the device flow; replaced in tests.
    package var pause: Pause = SignInOptions.sleep
    /// Opens an address in the user's browser.
    package typealias Open = @Sendable (String) -> BrowserLaunch
    /// Opens the browser; replaced in tests.
    package var open: Open = { BrowserLaunch($0) }
    /// Called when the browser's answer has arrived, before the code is redeemed; nil for no call.
    package var whenAnswered: (@Sendable () -> Void)?
    /// The service and the account that the last page shows; nil is not shown.
    package var service: String?
    package var account: String?

    package init() {}

    private static func sleep(_ milliseconds: UInt32, _ deadline: Deadline) {
        let end = deadline.within(milliseconds: milliseconds)
        OutsideCall.run {
            while !end.hasPassed { ShortPause.wait(milliseconds: min(100, end.remainingMilliseconds)) }
        }
    }
}

/// The result of a sign-in.
package struct SignedIn: Sendable {
    /// The server's token response, unchanged.
    package let response: SecretBytes
    /// The user who signed in; nil if the server names none.
    package let person: SignedInPerson?
    /// The account that the server names; nil if it names none.
    package var account: String? { person?.account }
    /// The granted scopes if they differ from the requested ones; nil if they do not.
    package let otherScope: String?
    package let hasRefreshToken: Bool
}

/// Signs a user in at a server. Nothing is stored: codes and verifiers stay in memory.
package enum SignIn {
    /// Signs in.
    ///
    /// - Throws: the errors of ``grant(at:_:until:_:)`` and ``checked(_:at:_:until:)``.
    package static func run(
        at server: SignInServer, _ options: SignInOptions, until deadline: Deadline,
        _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) -> SignedIn {
        try checked(grant(at: server, options, until: deadline, present), at: server, options, until: deadline)
    }

    /// Runs the sign-in until the server has sent tokens, which must then be checked.
    ///
    /// - Throws: ``Status/cancelled`` if the user refuses; ``Status/timedOut``; ``Status/denied`` if the server refuses
    ///   or an answer comes from elsewhere; ``Status/unavailable``; ``Status/unsupported``.
    static func grant(
        at server: SignInServer, _ options: SignInOptions, until deadline: Deadline,
        _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) -> TokenGrant {
        switch try flow(options.flow, server) {
        case .device:
            var device = try DeviceFlow(server, options, until: deadline)
            return try device.run(present)
        case let flow:
            let browser = try BrowserFlow(
                server, options, listens: flow == .browser, until: deadline, present)
            return try browser.run(
                options.scope, opening: flow == .browser && options.opensBrowser ? options.open : nil)
        }
    }

    /// Checks that a session can begin with the tokens of a grant, and its ID token. If there is none, asks the server's userinfo endpoint for the user.
    ///
    /// - Throws: ``Status/denied``, naming the claim that differs; ``Status/unsupported`` for other tokens than Bearer
    ///   tokens.
    static func checked(
        _ grant: TokenGrant, at server: SignInServer, _ options: SignInOptions, until deadline: Deadline
    ) throws(TokenKeepError) -> SignedIn {
        if let fault = grant.fault { throw fault }
        let claims = try IDTokenCheck.claims(of: grant.tokens.idToken, server, nonce: grant.nonce, now: grant.serverTime)
        let person =
            if let claims { SignedInPerson(server.accountClaims, claims.unverified) } else {
                Userinfo.person(of: grant.tokens.accessToken, at: server, until: deadline)
            }
        return SignedIn(
            response: grant.response, person: person,
            otherScope: otherScope(grant.tokens, options.scope.scope),
            hasRefreshToken: grant.tokens.refreshToken != nil)
    }

    /// Chooses the flow: over ssh or without a display, the user's browser is on another machine.
    private static func flow(_ asked: SignInFlow, _ server: SignInServer) throws(TokenKeepError) -> SignInFlow {
        guard asked == .choose else { return asked }
        let isElsewhere =
            getenv("SSH_CONNECTION") != nil
            || getenv("DISPLAY") == nil && getenv("WAYLAND_DISPLAY") == nil && getenv("BROWSER") == nil
        guard isElsewhere || server.authorizationEndpoint == nil else { return .browser }
        return server.hasDeviceFlow ? .device : .paste
    }

    /// The granted scopes; nil if they are the requested ones, in any order, or if one of both is unknown.
    private static func otherScope(_ tokens: TokenResponse, _ asked: String?) -> String? {
        guard let granted = tokens.scope, let asked else { return nil }
        let difference = SignInScope.difference(
            asked: asked, granted: granted, hasRefreshToken: tokens.refreshToken != nil)
        return difference.missing.isEmpty && difference.unasked.isEmpty ? nil : PlainText.printable(granted)
    }
}
