package import TokenKeepCore
package import TokenKeepEngine
package import TokenKeepSession

/// Signs a user in at a provider, and begins the session.
package struct SessionSignIn {
    private let store: Store
    private let service: String
    /// The session's account; nil for the account that the sign-in names.
    private var account: String?
    private let provider: Provider
    private var options: SignInOptions
    private var sessionOptions: SessionOptions
    /// Whether the session begins for whoever has signed in.
    package var takesAnyone = false

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
        // A server with an issuer is asked for its endpoints first.
        guard self.account != nil || canNameAccount(provider[.userinfoEndpoint] ?? provider[.issuer]) else {
            throw nameless
        }
    }

    /// Asks for scopes beside those of the present session, of the active account if none is named.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in; ``Status/invalid`` if another provider's session is there.
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
    private func checkAdded(_ granted: String?) throws(TokenKeepError) {
        guard let granted else { return }
        let missing = SignInScope.words(options.scope.added).filter { !SignInScope.words(granted).contains($0) }
        guard missing.isEmpty else {
            throw TokenKeepError(
                .denied, "the server did not grant \(missing.joined(separator: " "))",
                hint: "the present session is unchanged")
        }
    }

    /// The response with the scope that was asked for, if the server does not name it: then it is the same (RFC 6749
    /// section 5.1).
    private func response(of grant: TokenGrant) throws(TokenKeepError) -> SecretBytes {
        guard grant.tokens.scope == nil, let scope = options.scope.scope,
            let json = grant.response.withUnsafeBytes({ JSONValue(parsing: $0) })
        else { return grant.response }
        try json.set("scope", scope)
        return try json.serialized()
    }

    /// Whether the sign-in names an account: by an ID token, or at an endpoint.
    private func canNameAccount(_ endpoint: Any?) -> Bool { options.scope.asksForIdentity || endpoint != nil }

    private var nameless: TokenKeepError {
        TokenKeepError(
            .invalid, "the scope has no openid, so the sign-in names no account",
            hint: "tokenkeep session login \(service) ACCOUNT --provider \(provider.name)")
    }

    /// Signs in. A present session of the account is replaced once the sign-in has succeeded, and else unchanged.
    ///
    /// Tokens with which no session can begin are revoked, unless the vault may have another session of this user at the
    /// provider: many servers revoke all tokens of the user and the client with one.
    ///
    /// - Throws: as ``SignIn/run(at:_:until:_:)`` and ``SessionEngine/begin(_:response:revokesReplaced:)``; ``Status/denied`` if
    ///   another person has signed in.
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
            try checkAdded(grant.tokens.scope)
            session = opened
            // With one token, Keycloak, Google and others revoke every token of the user and the client, the new tokens
            // included.
            let isOfOther = (try? opened.info().provider).map { $0 != provider.name } ?? false
            try opened.begin(.user, response: response(of: grant), revokesReplaced: isOfOther, signInSince: start)
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

    /// The tokens that wait to be revoked, which the provider's file says how to send.
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

    /// Checks that a session's account is that of the person who signed in: the user of its present session, else the user
    /// whom the account names. A browser may be signed in as somebody else.
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

    /// The person of a session, by its ID token; nil if it has none, or cannot be read.
    private func present(of session: SessionEngine) -> SignedInPerson? {
        guard let token = try? session.sealed().idToken, let claims = UnverifiedClaims(unverified: token) else {
            return nil
        }
        return SignedInPerson(provider[.accountClaim].map { [$0] } ?? [], claims.unverified)
    }

    /// Revokes tokens with which no session began, and says so in the error.
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
        // The user's cancellation must not leave the tokens valid.
        let limit = Deadline(milliseconds: revocationLimit)
        do throws(TokenKeepError) {
            let hint = tokens.refreshToken == nil ? "access_token" : "refresh_token"
            let fields = [("token", token), ("token_type_hint", try SecretBytes(hint))]
            let answer = try server.post(.revocation, fields, limit)
            return answer.status == 200 && !SessionResponse.isPage(answer.body)
        } catch {
            return false
        }
    }

    /// Whether the vault certainly has no session of the person at the provider, in any namespace.
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
