import TokenKeepCore

/// The secret of git's items: a password alone, or git's lines if there is more (attribute `format` is `git`).
struct GitSecret {
    private static let format = "format"
    private static let lines = "git"

    var password: SecretBytes?
    var refreshToken: SecretBytes?
    var authtype: SecretBytes?
    var credential: SecretBytes?

    /// The attributes of an item with this secret.
    func attributes() throws(TokenKeepError) -> ItemAttributes {
        try isPlain ? .none : ItemAttributes([(GitSecret.format, GitSecret.lines)])
    }

    private var isPlain: Bool { refreshToken == nil && authtype == nil }

    /// Takes the secret out of a request.
    ///
    /// - Parameter knowsTypes: whether git understands `authtype`.
    init(_ request: GitMessage, knowsTypes: Bool) throws(TokenKeepError) {
        password = try request.secret("password")
        refreshToken = try request.secret("oauth_refresh_token")
        guard knowsTypes, let authtype = try request.secret("authtype"),
            let credential = try request.secret("credential")
        else { return }
        (self.authtype, self.credential) = (authtype, credential)
    }

    private init(password: SecretBytes) { self.password = password }

    /// Reads the secret of an item.
    static func read(_ found: Credential) throws(TokenKeepError) -> GitSecret {
        guard !found.isSession, found.details.attributes[format] == lines else {
            try found.checkGitValue()
            return GitSecret(password: found.secret)
        }
        do throws(TokenKeepError) {
            return try GitSecret(GitMessage(found.secret), knowsTypes: true)
        } catch {
            throw TokenKeepError(.corrupt, "the item \(found.title) does not have git's lines")
        }
    }

    /// The secret of the item to save; nil if there is nothing to save.
    func itemSecret() throws(TokenKeepError) -> SecretBytes? {
        if isPlain { return password }
        var text = SecretText()
        GitSecret.append("password", password, to: &text)
        GitSecret.append("oauth_refresh_token", refreshToken, to: &text)
        GitSecret.append("authtype", authtype, to: &text)
        GitSecret.append("credential", credential, to: &text)
        return try text.joined()
    }

    /// Whether the refused password or credential, one of which `refused` has, is this one.
    func isSame(as refused: GitSecret) -> Bool {
        if let credential = refused.credential { return credential == self.credential }
        return refused.password != nil && refused.password == password
    }

    /// Appends a line KEY=VALUE if there is a value.
    static func append(_ key: String, _ value: SecretBytes?, to text: inout SecretText) {
        guard let value else { return }
        text.append("\(key)=")
        text.append(value)
        text.append("\n")
    }
}
