import Glibc
package import TokenKeepCore
import TokenKeepSession

/// The options of a sign-in.
package struct SignInOptions: Sendable {
    package var flow = SignInFlow.choose
    package var scope = SignInScope()
    /// The port for the browser; nil for that of the provider's file, else any port.
    package var port: UInt16?
    /// Whether the browser is opened.
    package var opensBrowser = true
    /// Waits so many milliseconds, or until the deadline, which may be cancelled.
    package typealias Pause = @Sendable (UInt32, Deadline) -> Void
    /// The wait between two questions of a device; replaced in tests.
    package var pause: Pause = SignInOptions.sleep
    /// Opens an address in the user's browser.
    package typealias Open = @Sendable (String) -> BrowserLaunch
    /// Replaced in tests.
    package var open: Open = { BrowserLaunch($0) }
    /// Called when the browser's answer is there, before the server is asked for the tokens; nil for none.
    package var whenAnswered: (@Sendable () -> Void)?
    /// The names that the page shows at the end of the sign-in. A name that is nil is not shown.
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
    /// The server's token response, as it came.
    package let response: SecretBytes
    /// The user whom the server names; nil if it names none.
    package let person: SignedInPerson?
    /// The account that the server names; nil if it names none.
    package var account: String? { person?.account }
    /// The scopes that the server granted, if they differ from those that were asked for; nil if they do not.
    package let otherScope: String?
    package let hasRefreshToken: Bool
}

/// Signs a user in at a server. Nothing is stored: codes and verifiers stay in memory.
package enum SignIn {
    /// Signs in.
    ///
    /// - Throws: as ``grant(at:_:until:_:)`` and ``checked(_:at:_:)``.
    package static func run(
        at server: SignInServer, _ options: SignInOptions, until deadline: Deadline,
        _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) -> SignedIn {
        try checked(grant(at: server, options, until: deadline, present), at: server, options, until: deadline)
    }

    /// Gets the tokens of a sign-in, which are still to be checked.
    ///
    /// - Throws: ``Status/cancelled`` if the user refuses, ``Status/timedOut``, ``Status/denied`` if the server refuses
    ///   or an answer comes from elsewhere, ``Status/unavailable``, ``Status/unsupported``.
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

    /// Checks the ID token of a grant. If there is none, the server is asked who has signed in.
    ///
    /// - Throws: ``Status/denied``, naming what differs.
    static func checked(
        _ grant: TokenGrant, at server: SignInServer, _ options: SignInOptions, until deadline: Deadline
    ) throws(TokenKeepError) -> SignedIn {
        let claims = try IDToken.check(grant.tokens.idToken, server, nonce: grant.nonce, now: grant.serverTime)
        let person =
            if let claims { SignedInPerson(server.accountClaims, claims.unverified) } else {
                Userinfo.person(of: grant.tokens.accessToken, at: server, until: deadline)
            }
        return SignedIn(
            response: grant.response, person: person,
            otherScope: otherScope(grant.tokens.scope, options.scope.scope),
            hasRefreshToken: grant.tokens.refreshToken != nil)
    }

    /// The flow for this machine: over ssh or without a display, the browser is elsewhere.
    private static func flow(_ asked: SignInFlow, _ server: SignInServer) throws(TokenKeepError) -> SignInFlow {
        guard asked == .choose else { return asked }
        let isElsewhere =
            getenv("SSH_CONNECTION") != nil
            || getenv("DISPLAY") == nil && getenv("WAYLAND_DISPLAY") == nil && getenv("BROWSER") == nil
        guard isElsewhere || server.authorizationEndpoint == nil else { return .browser }
        return server.hasDeviceFlow ? .device : .paste
    }

    /// The granted scopes, unless they are those that were asked for in any order.
    private static func otherScope(_ granted: String?, _ asked: String?) -> String? {
        guard let granted, let asked else { return nil }
        return Set(SignInScope.words(granted)) == Set(SignInScope.words(asked)) ? nil : PlainText.printable(granted)
    }
}
