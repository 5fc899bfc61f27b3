package import TokenKeepCore

/// A token response (RFC 6749 section 5.1), from a server or from an application that passes it on.
package struct TokenResponse {
    package var accessToken: SecretBytes?
    package var refreshToken: SecretBytes?
    package var idToken: SecretBytes?
    package var tokenType: String?
    package var scope: String?
    /// The lifetime of the access token in seconds, rounded down; nil if missing, or if it is no number from 0 to a
    /// century.
    package var expiresIn: Int64?
    /// Whether the response had an access token that is ignored because its type is not Bearer.
    private var isOfAnotherType = false
    /// The members that TokenKeep does not interpret. They are kept in the record.
    package var others: [(name: String, value: JSONValue)] = []

    /// Parses a response leniently: a member of a wrong type counts as missing. An access token of another type than
    /// Bearer and a lifetime of 0 seconds also count as missing.
    ///
    /// - Returns: nil if the bytes are neither a JSON object nor a form.
    package init?(reading bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard let json = JSONValue.answer(bytes) else { return nil }
        try self.init(justSent: json)
        guard !TokenResponse.isBearer(json["token_type"]) else { return }
        isOfAnotherType = accessToken != nil
        accessToken = nil
        tokenType = nil
    }

    /// Describes, for messages, why an answer has no access token.
    var missingToken: String {
        isOfAnotherType ? "the token_type of its answer is not Bearer" : "its answer has no access_token"
    }

    private init(_ json: JSONValue) throws(TokenKeepError) {
        accessToken = try TokenResponse.token(json["access_token"])
        // Some servers send the value of the header, and not the token alone.
        if let token = accessToken {
            let bare = try TokenResponse.bareToken(token)
            accessToken = bare ?? (TokenResponse.isSchemeAlone(token) ? nil : token)
        }
        refreshToken = try TokenResponse.token(json["refresh_token"])
        idToken = try TokenResponse.token(json["id_token"])
        tokenType = json["token_type"].flatMap { $0.isBlank ? nil : $0.text }
        scope = json["scope"].flatMap { $0.text ?? ($0.texts.isEmpty ? nil : $0.texts.joined(separator: " ")) }
        expiresIn = TokenResponse.seconds(json["expires_in"])
        for name in json.names where !TokenResponse.known.contains(name) {
            if let value = json[name] { others.append((name, value)) }
        }
    }

    /// Reads an answer that the server has just sent. A lifetime of 0 then counts as unknown, because servers send 0
    /// for tokens that do not expire.
    private init(justSent json: JSONValue) throws(TokenKeepError) {
        try self.init(json)
        if expiresIn == 0 { expiresIn = nil }
    }

    package init(accessToken: SecretBytes, refreshToken: SecretBytes?, expiresIn: Int64?) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresIn = expiresIn
    }

    /// Parses the response with which a session begins.
    ///
    /// - Throws: ``Status/invalid`` if the response is no usable token response, naming the faulty member;
    ///   ``Status/unsupported`` if the tokens are bound to a key (DPoP).
    package static func strict(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> TokenResponse {
        let json = try members(of: bytes)
        let response = try TokenResponse(json)
        if json["access_token"] == nil, ServerWords.code(json, inObject: []) != nil {
            throw TokenKeepError(
                .invalid,
                "the token response is an error: \(ServerWords.text(json, hiding: response.refreshToken))")
        }
        if response.accessToken == nil, let fault = try fault(json) { throw fault }
        for name in ["refresh_token", "id_token"] {
            guard let member = json[name], !member.isBlank, try token(member) == nil else { continue }
            throw TokenKeepError(.invalid, "\(name) of the token response is no token")
        }
        if let fault = try fault(json) { throw fault }
        return response
    }

    /// Parses the answer with which a server ends a sign-in. A refresh token or an ID token of a wrong type counts as
    /// missing, as in a refresh.
    ///
    /// - Returns: the tokens and a fault. The fault is nil if a session can begin with the tokens; otherwise the caller
    ///   should revoke them.
    /// - Throws: ``Status/invalid`` if the answer has neither an access token nor a refresh token.
    package static func signIn(
        _ bytes: UnsafeRawBufferPointer
    ) throws(TokenKeepError) -> (response: TokenResponse, fault: TokenKeepError?) {
        let json = try members(of: bytes)
        let response = try TokenResponse(justSent: json)
        let fault = try fault(json)
        if let fault, response.accessToken == nil, response.refreshToken == nil { throw fault }
        return (response, fault)
    }

    private static func members(of bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> JSONValue {
        guard bytes.count <= JSONValue.maximumLength else {
            throw TokenKeepError(.invalid, "the token response is longer than 256 KiB")
        }
        guard let json = JSONValue.answer(bytes) else {
            throw TokenKeepError(
                .invalid, "the token response is neither a JSON object nor a form", hint: hint(for: bytes))
        }
        return json
    }

    private static func hint(for bytes: UnsafeRawBufferPointer) -> String {
        if bytes.starts(with: "HTTP/".utf8) { return "pass on the answer's body alone: curl without -i" }
        if bytes.starts(with: [0x1F, 0x8B]) { return "pass on the answer without compression: curl --compressed" }
        return "pass on the server's answer as it came"
    }

    /// The reason why no session can begin with the answer's access token; nil if a session can begin.
    private static func fault(_ json: JSONValue) throws(TokenKeepError) -> TokenKeepError? {
        guard let member = json["access_token"] else {
            return TokenKeepError(.invalid, "the token response has no access_token")
        }
        guard try token(member) != nil else {
            return TokenKeepError(.invalid, "access_token of the token response is no token")
        }
        guard let type = json["token_type"], !isBearer(type) else { return nil }
        guard type.text?.lowercased() != "dpop" else {
            return TokenKeepError(
                .unsupported, "the tokens of the response are bound to a key (DPoP), which TokenKeep does not keep",
                hint: "sign in with a client for which the server gives Bearer tokens")
        }
        return TokenKeepError(.invalid, "the token_type of the response is not Bearer")
    }

    /// Whether a token type means Bearer: `bearer` in any case, or Apigee's `BearerToken`.
    static func isBearer(_ type: String) -> Bool {
        ["bearer", "bearertoken"].contains(type.lowercased().filter { $0 != " " })
    }

    /// Whether the member `token_type` means Bearer. A missing or blank member does, too.
    private static func isBearer(_ type: JSONValue?) -> Bool {
        guard let type, !type.isBlank else { return true }
        return type.text.map(isBearer) ?? false
    }

    /// The seconds from `now` to the access token's expiry, taken from `expires_in`, otherwise from the claim `exp` if
    /// the access token is a JSON Web Token; nil if both are missing.
    ///
    /// - Parameter offset: the server's clock minus the wall clock, in seconds.
    func lifetime(at now: SessionTime, offset: Int64) -> Int64? {
        expiresIn ?? accessToken.flatMap { TokenResponse.lifetime(of: $0, at: now, offset: offset) }
    }

    /// The seconds until the time in the claim `exp` of a JSON Web Token; nil if the token is opaque, has no such claim,
    /// or names a time beyond a century, such as one in milliseconds.
    static func lifetime(of token: SecretBytes, at now: SessionTime, offset: Int64 = 0) -> Int64? {
        guard let end = UnverifiedClaims(unverified: token)?.seconds("exp"), end > 0 else { return nil }
        let left = end - now.wall - offset
        return left <= Int64(longestLife) ? max(0, left) : nil
    }

    /// The person whom the ID token names; nil if there is no readable ID token.
    var identity: TokenIdentity? { idToken.flatMap { TokenIdentity(idToken: $0) } }

    private static let known: Set<String> = [
        "access_token", "refresh_token", "id_token", "token_type", "scope", "expires_in",
    ]

    /// The token in a member; nil if the member is missing, no string or no token (RFC 6749 appendix A.12).
    private static func token(_ member: JSONValue?) throws(TokenKeepError) -> SecretBytes? {
        guard let secret = try member?.secret(), isToken(secret) else { return nil }
        return secret
    }

    /// Whether bytes can be sent as a token: at least one byte, no control characters, and no U+FFFD, which replaces
    /// bytes that are not UTF-8.
    package static func isToken(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            !bytes.isEmpty && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
                && !bytes.indices.contains {
                    bytes[$0] == AnswerText.unreadable[0] && bytes[$0...].starts(with: AnswerText.unreadable)
                }
        }
    }

    /// A member's number of seconds, rounded down; nil if the member is no number between 0 and a century.
    package static func seconds(_ member: JSONValue?) -> Int64? {
        guard let number = member?.number?.rounded(.down), (0...longestLife).contains(number) else { return nil }
        return Int64(number)
    }

    /// The maximum lifetime, in seconds: a century. A larger number is no lifetime, but for example a time in
    /// milliseconds.
    private static let longestLife = 3_155_760_000.0
}
