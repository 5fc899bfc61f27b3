import TokenKeepCore
import TokenKeepTerminal

/// git's credential helper: `get`, `store`, `erase`, `capability`.
struct GitHelper {
    private static let longestExpiry: Int64 = 253_402_300_799
    /// The prefix of the state that `get` returns and that git passes back in `store` and `erase`. The item's version
    /// follows the prefix.
    private static let statePrefix = "tokenkeep:"

    private let items: CredentialStore
    private let request: GitMessage
    private let service: String
    private let account: String?
    private let capabilities: [String]

    /// Reads git's request and writes the answer. Ignores unknown operations, which a later version of git may send.
    static func run(_ invocation: inout Invocation) throws {
        invocation.mayPrompt = invocation.mayPrompt && GitSettings.mayPrompt
        let operation = try invocation.requiredWord("the operation")
        if operation == "capability" {
            return try Terminal.write("version 0\ncapability authtype\ncapability state\n")
        }
        guard ["get", "store", "erase"].contains(operation) else { return }
        let helper = try GitHelper(invocation)
        do {
            switch operation {
            case "get": try helper.get()
            case "store": try helper.store()
            default: try helper.erase()
            }
        } catch let error as TokenKeepError where error.status == .locked && invocation.quitsWhenLocked {
            if operation == "get" { try Terminal.write("quit=1\n") }
            throw error
        }
    }

    private init(_ invocation: Invocation) throws(TokenKeepError) {
        request = try GitMessage(RequestInput.all())
        service = try GitHelper.service(of: request)
        let account = try request.text("username")
        self.account = account
        capabilities = try request.texts("capability[]")
        items = try CredentialStore(invocation)
    }

    /// Returns the service of the request's item: `git:PROTOCOL://HOST`, followed by `/PATH` if git sends a path.
    private static func service(of request: GitMessage) throws(TokenKeepError) -> String {
        guard let scheme = try request.text("protocol"), !scheme.isEmpty else {
            throw TokenKeepError(.invalid, "the request names no protocol")
        }
        guard scheme.utf8.allSatisfy(WebOrigin.isSchemeByte) else {
            throw TokenKeepError(.invalid, "the request's protocol is not a word")
        }
        let path = try request.text("path") ?? ""
        // A request for the password of a client certificate has a path and an empty host.
        guard let host = try request.text("host"), !(host.isEmpty && path.isEmpty) else {
            throw TokenKeepError(.invalid, "the request names no host")
        }
        // With one of these characters, a host such as `example.com/path` would name the item of another host.
        guard !host.utf8.contains(where: { "/?#@\\ ".utf8.contains($0) }) else {
            throw TokenKeepError(.invalid, "the request's host has a character that no host has")
        }
        let end = path.isEmpty ? "" : path.hasPrefix("/") ? path : "/\(path)"
        return "git:\(scheme)://\(host)\(end)"
    }

    private var knowsTypes: Bool { capabilities.contains("authtype") }
    private var knowsState: Bool { capabilities.contains("state") }

    // MARK: get

    private func get() throws {
        guard let found = try items.credential(of: service, account) else { return }
        var secret = try GitSecret.read(found)
        if found.isSession, found.account.isEmpty, account == nil, knowsTypes {
            (secret.authtype, secret.credential, secret.password) = (try SecretBytes("Bearer"), secret.password, nil)
        }
        guard secret.authtype == nil || knowsTypes else { return }
        try answer(found, secret).write()
    }

    private func answer(_ found: Credential, _ secret: GitSecret) -> SecretText {
        var text = SecretText()
        if secret.authtype != nil { text.append("capability[]=authtype\n") }
        if knowsState { text.append("capability[]=state\n") }
        GitSecret.append("authtype", secret.authtype, to: &text)
        GitSecret.append("credential", secret.credential, to: &text)
        if found.isSession, secret.authtype != nil { text.append("ephemeral=1\n") }
        if !found.account.isEmpty { text.append("username=\(found.account)\n") }
        GitSecret.append("password", secret.password, to: &text)
        if let expiresAt = found.expiresAt { text.append("password_expiry_utc=\(expiresAt.rawValue)\n") }
        GitSecret.append("oauth_refresh_token", secret.refreshToken, to: &text)
        if knowsState, !found.isSession { text.append("state[]=\(GitHelper.statePrefix)\(found.details.version)\n") }
        return text
    }

    // MARK: store

    private func store() throws(TokenKeepError) {
        var secret = try GitSecret(request, knowsTypes: knowsTypes)
        // An empty password is not stored: git also tells it after an anonymous fetch, when the server has not asked.
        let isWhole = secret.credential != nil || account != nil && (secret.password?.count ?? 0) > 0
        guard isWhole, try !isEphemeral() else { return }
        var expiresAt = try expiry()
        // git before 2.41 does not send back the expiry and the refresh token that `get` returned, so keep both from
        // the present item if its password is the same.
        if let present = try? items.credential(of: service, account ?? ""), !present.isSession,
            let kept = try? GitSecret.read(present), kept.isSame(as: secret)
        {
            secret.refreshToken = secret.refreshToken ?? kept.refreshToken
            expiresAt = expiresAt ?? present.expiresAt
        }
        guard let itemSecret = try secret.itemSecret() else { return }
        try items.save(itemSecret, of: service, account ?? "", attributes: secret.attributes(), expiresAt: expiresAt)
    }

    private func isEphemeral() throws(TokenKeepError) -> Bool {
        guard let value = try request.text("ephemeral") else { return false }
        return !["0", "false", "no", "off", ""].contains(value.lowercased())
    }

    /// Returns the time at which the password expires; nil if the request has no expiry, or an expiry outside the years
    /// 1970 to 9999. Like git, treats 0 as no expiry.
    private func expiry() throws(TokenKeepError) -> UnixTime? {
        guard let text = try request.text("password_expiry_utc") else { return nil }
        guard let seconds = Int64(text) else {
            throw TokenKeepError(.invalid, "the request's password_expiry_utc is no number")
        }
        return 1...GitHelper.longestExpiry ~= seconds ? UnixTime(seconds) : nil
    }

    // MARK: erase

    /// Erases the credential that the server refused.
    ///
    /// If the request has a password or a credential, erases only items that contain it. Otherwise erases the version
    /// of the item that `get` returned or, without that version, every item that the request names; if the request has
    /// an `authtype`, only items of this type.
    private func erase() throws(TokenKeepError) {
        let refused = try GitSecret(request, knowsTypes: true)
        let version = try version()
        let authtype = try request.secret("authtype")
        let isRefused = { (found: Credential) throws(TokenKeepError) -> Bool in
            if refused.password != nil || refused.credential != nil {
                return try GitSecret.read(found).isSame(as: refused)
            }
            if let authtype, try GitSecret.read(found).authtype != authtype { return false }
            // A session is not erased here, because only `tokenkeep session logout` ends a session.
            return !found.isSession && (version == nil || version == found.details.version)
        }
        try items.erase(service, account, where: isRefused)
        // The refused password may belong to an item without an account. git gets no username from such an item, so git
        // prompts its user for a username and names that username here.
        guard let account, !account.isEmpty, refused.password != nil || refused.credential != nil else { return }
        try items.erase(service, "", where: isRefused)
    }

    /// Returns the version of the item that `get` returned; nil if git did not pass the state of `get` back.
    private func version() throws(TokenKeepError) -> UInt64? {
        try request.texts("state[]").compactMap { state in
            state.hasPrefix(GitHelper.statePrefix) ? UInt64(state.dropFirst(GitHelper.statePrefix.count)) : nil
        }.last
    }
}
