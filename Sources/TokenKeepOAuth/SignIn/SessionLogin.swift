package import TokenKeepCore
package import TokenKeepEngine
package import TokenKeepSession

/// Signs a user in at a provider, and begins the session.
package struct SessionLogin {
    private let store: Store
    private let service: String
    /// nil for the account that the sign-in names.
    private let account: String?
    private let provider: Provider
    private var options: SignInOptions
    private var sessionOptions: SessionOptions

    /// The time for the revocation of tokens with which no session began, in milliseconds; replaced in tests.
    package var revocationLimit: UInt32 = 10_000

    /// Checks all that can be checked before the user signs in.
    ///
    /// - Parameters:
    ///   - provider: its scope, resource and audience count if the options name none.
    ///   - sessionOptions: of the session that begins. Their provider and rotation are those of `provider`.
    /// - Throws: ``Status/invalid`` for wrong names, and if nothing will name the account.
    package init(
        _ store: Store, service: String, account: String?, at provider: Provider, _ options: SignInOptions,
        _ sessionOptions: SessionOptions
    ) throws(TokenKeepError) {
        (self.store, self.service, self.account, self.provider) = (store, service, account, provider)
        self.options = options
        self.options.scope.scope = options.scope.scope ?? provider[.scope]
        self.options.scope.resource = options.scope.resource ?? provider[.resource]
        self.options.scope.audience = options.scope.audience ?? provider[.audience]
        self.sessionOptions = sessionOptions
        self.sessionOptions.provider = provider.name
        self.sessionOptions.rotation = sessionOptions.rotation ?? provider.rotation
        _ = try ItemName(namespace: store.namespace, service: service, account: account ?? "")
        guard account != nil || self.options.scope.asksForIdentity else {
            throw TokenKeepError(
                .invalid, "the scope has no openid, so the sign-in names no account",
                hint: "tokenkeep session login \(service) ACCOUNT --provider \(provider.name)")
        }
    }

    /// Signs in. A present session of the account is replaced once the sign-in has succeeded, and else unchanged.
    ///
    /// Tokens with which no session can begin are revoked, unless the vault has another session of the provider: many servers
    /// revoke all tokens of the user and the client with one.
    ///
    /// - Throws: as ``SignIn/run(at:_:until:_:)`` and ``Session/begin(_:response:revokesReplaced:)``.
    package func run(
        until deadline: Deadline, _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) -> (session: Session, signedIn: SignedIn) {
        defer { sessionOptions.whileSending?(false) }
        let server = try SignInServer(provider, store, until: deadline, sessionOptions.whileSending)
        let grant = try SignIn.grant(at: server, options, until: deadline, present)
        var session: Session?
        do throws(TokenKeepError) {
            try deadline.checkCancellation()
            let signedIn = try SignIn.checked(grant, at: server, options)
            let opened = try open(signedIn)
            session = opened
            // Keycloak, Google and others revoke every token of the user and the client with one: the new ones, too.
            let isOfOther = (try? opened.info().provider).map { $0 != provider.name } ?? false
            try opened.begin(.user, response: signedIn.response, revokesReplaced: isOfOther)
            return (opened, signedIn)
        } catch {
            if let session, let token = grant.tokens.accessToken,
                !session.hasCertainlyNot(begunWith: token, after: error)
            {
                throw error
            }
            throw giveBack(grant.tokens, to: server, after: error)
        }
    }

    private func open(_ signedIn: SignedIn) throws(TokenKeepError) -> Session {
        guard let account = account ?? signedIn.account else {
            throw TokenKeepError(
                .denied, "the sign-in names no account", hint: "name one: tokenkeep session login SERVICE ACCOUNT")
        }
        return try Session(store, service: service, account: account, sessionOptions)
    }

    /// Revokes tokens with which no session began, and says so in the error.
    private func giveBack(
        _ tokens: TokenResponse, to server: SignInServer, after error: TokenKeepError
    ) -> TokenKeepError {
        let page = provider[.sessionsPage].map { ": end it at \($0)" } ?? ""
        let outcome = revoke(tokens, at: server) ? "its tokens were revoked" : "it is still valid at the server\(page)"
        return TokenKeepError(
            error.status, "\(error.message); the sign-in was not kept, and \(outcome)", module: error.module,
            hint: error.hint)
    }

    private func revoke(_ tokens: TokenResponse, at server: SignInServer) -> Bool {
        guard server.canRevoke, isAlone, let token = tokens.refreshToken ?? tokens.accessToken else { return false }
        // The user's cancellation must not leave the tokens valid.
        let limit = Deadline(milliseconds: revocationLimit)
        do throws(TokenKeepError) {
            let hint = tokens.refreshToken == nil ? "access_token" : "refresh_token"
            let fields = [("token", token), ("token_type_hint", try SecretBytes(hint))]
            return try server.post(.revocation, fields, limit).status == 200
        } catch {
            return false
        }
    }

    /// Whether the vault certainly has no session of the provider, in any namespace.
    private var isAlone: Bool { (try? Sessions(store).areAllWithout(provider: provider.name)) ?? false }
}
