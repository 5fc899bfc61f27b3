import Glibc
package import TokenKeepCore
import TokenKeepSession

/// The options of a sign-in.
package struct SignInOptions: Sendable {
    package var flow = SignInFlow.choose
    package var scope = SignInScope()
    /// The port at which to listen for the browser; nil for the port in the provider's file, or any free port if the
    /// file names none.
    package var port: UInt16?
    /// Whether to open the browser.
    package var opensBrowser = true
    /// Sleeps for a number of milliseconds. Returns early if the deadline passes or is cancelled.
    package typealias Pause = @Sendable (UInt32, Deadline) -> Void
    /// Sleeps between two polls of the device flow; replaced in tests.
    package var pause: Pause = SignInOptions.sleep
    /// Opens an address in the user's browser.
    package typealias Open = @Sendable (String) -> BrowserLaunch
    /// Opens the browser; replaced in tests.
    package var open: Open = { BrowserLaunch($0) }
    /// Called after the browser's answer has arrived and before its code is redeemed; nil to call nothing.
    package var whenAnswered: (@Sendable () -> Void)?
    /// The service that the last page in the browser shows, and below the account. A name that is nil is not shown.
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
    /// The user who signed in; nil if the server names no user.
    package let person: SignedInPerson?
    /// The account that the server names; nil if the server names no account.
    package var account: String? { person?.account }
    /// The granted scopes if they differ from the requested scopes; nil if they are equal, or if one of both is
    /// unknown.
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

    /// Runs the sign-in until the server has sent tokens. The caller must then check them with
    /// ``checked(_:at:_:until:)``.
    ///
    /// - Throws: ``Status/cancelled`` if the user refuses; ``Status/timedOut`` if there is no answer in time;
    ///   ``Status/denied`` if the server refuses or an answer comes from another server; ``Status/unavailable`` if the
    ///   server cannot be reached; ``Status/unsupported`` if the server lacks an endpoint.
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

    /// Checks that a session can begin with a grant's tokens, and checks its ID token. Without an ID token, asks the
    /// server's userinfo endpoint for the user.
    ///
    /// - Throws: ``Status/denied`` if a claim of the ID token is wrong, naming the claim; ``Status/unsupported`` if the
    ///   tokens are not Bearer tokens.
    static func checked(
        _ grant: TokenGrant, at server: SignInServer, _ options: SignInOptions, until deadline: Deadline
    ) throws(TokenKeepError) -> SignedIn {
        if let fault = grant.fault { throw fault }
        let claims = try IDTokenCheck.claims(
            of: grant.tokens.idToken, server, nonce: grant.nonce, now: grant.serverTime)
        let person =
            if let claims { SignedInPerson(server.accountClaims, claims.unverified) } else {
                Userinfo.person(of: grant.tokens.accessToken, at: server, until: deadline)
            }
        return SignedIn(
            response: grant.response, person: person,
            otherScope: otherScope(grant.tokens, options.scope.scope),
            hasRefreshToken: grant.tokens.refreshToken != nil)
    }

    /// Chooses the flow if the user has chosen none. Over ssh or without a display, the user's browser is on another
    /// machine, so the browser flow cannot be used.
    private static func flow(_ asked: SignInFlow, _ server: SignInServer) throws(TokenKeepError) -> SignInFlow {
        guard asked == .choose else { return asked }
        let isElsewhere =
            getenv("SSH_CONNECTION") != nil
            || getenv("DISPLAY") == nil && getenv("WAYLAND_DISPLAY") == nil && getenv("BROWSER") == nil
        guard isElsewhere || server.authorizationEndpoint == nil else { return .browser }
        return server.hasDeviceFlow ? .device : .paste
    }

    /// The granted scopes if they differ from the requested scopes; nil if they are equal (in any order), or if one of
    /// both is unknown.
    private static func otherScope(_ tokens: TokenResponse, _ asked: String?) -> String? {
        guard let granted = tokens.scope, let asked else { return nil }
        let difference = SignInScope.difference(
            asked: asked, granted: granted, hasRefreshToken: tokens.refreshToken != nil)
        return difference.missing.isEmpty && difference.unasked.isEmpty ? nil : PlainText.printable(granted)
    }
}
