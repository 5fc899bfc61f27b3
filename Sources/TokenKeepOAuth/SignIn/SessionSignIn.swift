package import TokenKeepCore
package import TokenKeepEngine
package import TokenKeepSession

/// Signs a user in at a provider, and begins the session.
package struct SessionSignIn {
    private let store: Store
    private let service: String
    /// The account of the new session; nil to use the account that the server names.
    private var account: String?
    private let provider: Provider
    private var options: SignInOptions
    private var sessionOptions: SessionOptions
    /// Whether the session also begins if a different person than expected has signed in.
    package var takesAnyone = false

    /// The time limit, in milliseconds, for revoking tokens with which no session could begin. Tests replace it.
    package var revocationLimit: UInt32 = 10_000

    /// Checks everything that can be checked before the user signs in.
    ///
    /// - Parameters:
    ///   - provider: the provider. Its scope, resource and audience are used if the options name none.
    ///   - sessionOptions: the options of the new session. Its provider is set to `provider`, and its rotation, if not
    ///     set, to the rotation of `provider`.
    /// - Throws: ``Status/invalid`` if a name is invalid, or if no account is given and the sign-in cannot name one;
    ///   the errors of adding scopes.
    package init(
        _ store: Store, service: String, account: String?, at provider: Provider, _ options: SignInOptions,
        _ sessionOptions: SessionOptions
    ) throws(TokenKeepError) {
        (self.store, self.service, self.provider) = (store, service, provider)
        self.options = options
        self.options.scope.scope = options.scope.scope ?? provider[.scope]
        self.options.scope.resource = options.scope.resource ?? provider[.resource]
        self.options.scope.audience = options.scope.audience ?? provider[.audience]
        self.options.scope.parameters = provider.parameters.mapValues(\.text)
            .merging(options.scope.parameters) { _, given in given }.filter { !$0.value.isEmpty }
        self.sessionOptions = sessionOptions
        self.sessionOptions.provider = provider.name
        self.sessionOptions.rotation = sessionOptions.rotation ?? provider.rotation
        _ = try ItemName(namespace: store.namespace, service: service, account: account ?? "")
        self.account = account
        if let added = options.scope.added { try add(scopes: added) }
        (self.options.service, self.options.account) = (service, self.account)
        // The server may name a userinfo endpoint in its metadata, which are fetched later, so an issuer suffices here.
        guard self.account != nil || canNameAccount(provider[.userinfoEndpoint] ?? provider[.issuer]) else {
            throw nameless
        }
    }

    /// Adds scopes to the scopes of the present session: the session of `account`, otherwise of the active account.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in; ``Status/invalid`` if the session has another provider.
    private mutating func add(scopes: String) throws(TokenKeepError) {
        let session = try SessionEngine(store, service: service, account: account, sessionOptions)
        let info = try session.info()
        guard info.state != .signedOut else {
            throw TokenKeepError(
                .notFound, "nobody is signed in as \(session.name)",
                hint: "sign in with --scope in place of --add-scope")
        }
        let sealed = try session.sealed()
        guard sealed.provider == provider.name else {
            throw TokenKeepError(
                .invalid, "the session of \(session.name) is not one of the provider \(provider.name)",
                hint: sealed.provider.map { "--provider \($0)" } ?? "sign in with --scope in place of --add-scope")
        }
        account = info.account
        var words = SignInScope.words(sealed.scope ?? options.scope.scope)
        for word in SignInScope.words(scopes) where !words.contains(word) { words.append(word) }
        options.scope.scope = words.joined(separator: " ")
    }

    /// Checks that the server granted the scopes that were added.
    private func checkAdded(_ tokens: TokenResponse) throws(TokenKeepError) {
        guard let granted = tokens.scope else { return }
        let missing = SignInScope.difference(
            asked: options.scope.added, granted: granted, hasRefreshToken: tokens.refreshToken != nil
        ).missing
        guard missing.isEmpty else {
            throw TokenKeepError(
                .denied, "the server did not grant \(missing.joined(separator: " "))",
                hint: "the present session is unchanged")
        }
    }

    /// The server's tokens, with the requested scope if the response names none: the granted scope is then the
    /// requested one (RFC 6749 section 5.1).
    private func tokens(of grant: TokenGrant) -> TokenResponse {
        var tokens = grant.tokens
        tokens.scope = tokens.scope ?? options.scope.scope
        return tokens
    }

    /// Whether the sign-in can name an account, in an ID token or at the userinfo endpoint `endpoint`.
    private func canNameAccount(_ endpoint: Any?) -> Bool { options.scope.asksForIdentity || endpoint != nil }

    private var nameless: TokenKeepError {
        TokenKeepError(
            .invalid, "the scope has no openid, so the sign-in names no account",
            hint: "tokenkeep session login \(service) ACCOUNT --provider \(provider.name)")
    }

    /// Signs the user in, and begins the session. The account's present session is replaced only if the sign-in
    /// succeeds.
    ///
    /// If no session can begin, the new tokens are revoked. They are not revoked if the vault may have another session
    /// of this user at the provider, because many servers revoke all tokens of a user and client together.
    ///
    /// - Throws: the errors of ``SignIn/run(at:_:until:_:)`` and ``SessionEngine/begin(_:response:revokesReplaced:)``;
    ///   ``Status/denied`` if a different person than expected has signed in.
    package func run(
        until deadline: Deadline, _ present: @escaping SignInPresenter
    ) throws(TokenKeepError) -> (session: SessionEngine, signedIn: SignedIn) {
        defer { sessionOptions.whileSending?(false) }
        let server = try SignInServer(provider, store, until: deadline, sessionOptions.whileSending)
        guard account != nil || canNameAccount(server.askUserinfo) else { throw nameless }
        let start = SignInStart(store, service: service, account: account, sessionOptions)
        let outbox = outbox
        outbox.sendBeforeSignIn(at: provider.name, within: revocationLimit, until: deadline)
        let grant = try SignIn.grant(at: server, options, until: deadline, present)
        outbox.drop(of: provider.name)
        var session: SessionEngine?
        var person: SignedInPerson?
        do throws(TokenKeepError) {
            try deadline.checkCancellation()
            let signedIn = try SignIn.checked(grant, at: server, options, until: deadline)
            person = signedIn.person
            let opened = try open(signedIn)
            if let person, !takesAnyone { try check(person, for: opened) }
            try checkAdded(grant.tokens)
            session = opened
            // The replaced session's tokens are revoked only if it has another provider. At the same provider,
            // Keycloak, Google and others would revoke the new tokens together with the old ones.
            let isOfOther = (try? opened.info().provider).map { $0 != provider.name } ?? false
            try opened.begin(
                .user, tokens(of: grant), revokesReplaced: isOfOther, signInSince: start, offset: grant.offset)
            return (opened, signedIn)
        } catch {
            if let session, let token = grant.tokens.accessToken,
                !session.hasCertainlyNot(begunWith: token, after: error)
            {
                throw error
            }
            throw giveBack(grant.tokens, of: person, to: server, after: error)
        }
    }

    /// The outbox, which sends tokens as the provider's file describes.
    private var outbox: Outbox {
        var options = sessionOptions
        options.transport = { [provider] request throws(TokenKeepError) in
            try SessionServer.send(request, to: provider)
        }
        options.transportNotesSending = true
        return Outbox(store, options)
    }

    private func open(_ signedIn: SignedIn) throws(TokenKeepError) -> SessionEngine {
        guard let account = account ?? signedIn.account else {
            throw TokenKeepError(
                .denied, "the sign-in names no account", hint: "name one: tokenkeep session login SERVICE ACCOUNT")
        }
        return try SessionEngine(store, service: service, account: account, sessionOptions)
    }

    /// Checks that the right person has signed in: the user of the account's present session, otherwise the user whom
    /// the account names. The browser may be signed in as another person.
    private func check(_ person: SignedInPerson, for session: SessionEngine) throws(TokenKeepError) {
        let hint = "sign in as the other user in the browser, or begin the session for this one: --any-account"
        if let present = present(of: session), let isOther = person.isOther(than: present) {
            guard isOther else { return }
            throw TokenKeepError(
                .denied,
                "\(person.fullLabel) has signed in, and the session of \(session.name) is that of \(present.fullLabel)",
                hint: hint)
        }
        let account = session.name.account
        guard person.isOther(than: account) == true else { return }
        throw TokenKeepError(.denied, "\(person.label) has signed in, expected \(account)", hint: hint)
    }

    /// The person to whom a session belongs, with the names of its ID token; nil if its ID tokens name nobody.
    private func present(of session: SessionEngine) -> SignedInPerson? {
        guard let sealed = try? session.sealed() else { return nil }
        let claims = sealed.idToken.flatMap { UnverifiedClaims(unverified: $0) }
        guard claims != nil || sealed.identity != nil else { return nil }
        // Issuer and subject come from the stored identity, because a later ID token may lack them.
        return SignedInPerson(provider[.accountClaim].map { [$0] } ?? []) { name in
            switch name {
            case "iss": sealed.identity?.issuer
            case "sub": sealed.identity?.subject
            default: claims?.unverified(name)
            }
        }
    }

    /// Revokes tokens with which no session began, and adds the outcome to the error.
    private func giveBack(
        _ tokens: TokenResponse, of person: SignedInPerson?, to server: SignInServer, after error: TokenKeepError
    ) -> TokenKeepError {
        let page = provider[.sessionsPage].map { ": end it at \($0)" } ?? ""
        let outcome =
            revoke(tokens, of: person, at: server)
            ? "its tokens were revoked" : "it is still valid at the server\(page)"
        return TokenKeepError(
            error.status, "\(error.message); the sign-in was not kept, and \(outcome)", module: error.module,
            hint: error.hint)
    }

    private func revoke(_ tokens: TokenResponse, of person: SignedInPerson?, at server: SignInServer) -> Bool {
        guard server.canRevoke, isAlone(person), let token = tokens.refreshToken ?? tokens.accessToken else {
            return false
        }
        // The revocation has a new deadline, because the user may have cancelled the old one, and the tokens must not
        // stay valid.
        let limit = Deadline(milliseconds: revocationLimit)
        do throws(TokenKeepError) {
            let hint = tokens.refreshToken == nil ? "access_token" : "refresh_token"
            let fields = [("token", token), ("token_type_hint", try SecretBytes(hint))]
            let answer = try server.post(.revocation, fields, limit)
            return SessionResponse(status: answer.status, body: answer.body).saysRevoked
        } catch {
            return false
        }
    }

    /// Whether the vault certainly has no other session of the person at the provider, in any namespace.
    private func isAlone(_ person: SignedInPerson?) -> Bool {
        let isAlone = try? Sessions(store).areAllWithout(provider: provider.name) { name in
            guard let person, name.namespace == store.namespace,
                let session = try? SessionEngine(store, service: name.service, account: name.account, sessionOptions),
                let other = present(of: session)
            else { return false }
            return person.isOther(than: other) == true
        }
        return isAlone ?? false
    }
}
