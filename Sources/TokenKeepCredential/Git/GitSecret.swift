import TokenKeepCore

/// The secret of an item for git: a password or, if the item has the attribute `format`=`git`, lines of git's protocol.
struct GitSecret {
    private static let format = "format"
    private static let lines = "git"

    var password: SecretBytes?
    var refreshToken: SecretBytes?
    var authtype: SecretBytes?
    var credential: SecretBytes?

    /// The attributes of an item that contains this secret.
    func attributes() throws(TokenKeepError) -> ItemAttributes {
        try isPlain ? .none : ItemAttributes([(GitSecret.format, GitSecret.lines)])
    }

    private var isPlain: Bool { refreshToken == nil && authtype == nil }

    /// Copies the secret from a request.
    ///
    /// - Parameter knowsTypes: whether git understands `authtype`.
    init(_ request: GitMessage, knowsTypes: Bool) throws(TokenKeepError) {
        // Of an address such as `https://ann:@host` the password is empty, and the server refuses only that password.
        password = try request.secret("password", mayBeEmpty: true)
        refreshToken = try request.secret("oauth_refresh_token")
        guard knowsTypes, let authtype = try request.secret("authtype"),
            let credential = try request.secret("credential")
        else { return }
        (self.authtype, self.credential) = (authtype, credential)
    }

    private init(password: SecretBytes) { self.password = password }

    /// Parses the secret of an item or the token of a session.
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

    /// The bytes to save as the item's secret; nil if there is nothing to save.
    func itemSecret() throws(TokenKeepError) -> SecretBytes? {
        if isPlain { return password }
        var text = SecretText()
        GitSecret.append("password", password, to: &text)
        GitSecret.append("oauth_refresh_token", refreshToken, to: &text)
        GitSecret.append("authtype", authtype, to: &text)
        GitSecret.append("credential", credential, to: &text)
        return try text.joined()
    }

    /// Whether this secret has the credential of `refused` or, if `refused` has no credential, the password of
    /// `refused`.
    func isSame(as refused: GitSecret) -> Bool {
        if let credential = refused.credential { return credential == self.credential }
        return refused.password != nil && refused.password == password
    }

    /// Appends a line KEY=VALUE. Does nothing if `value` is nil.
    static func append(_ key: String, _ value: SecretBytes?, to text: inout SecretText) {
        guard let value else { return }
        text.append("\(key)=")
        text.append(value)
        text.append("\n")
    }
}
