package import TokenKeepCore

/// A token response (RFC 6749 section 5.1) as a server sent it, or an application passes it on.
package struct TokenResponse {
    package var accessToken: SecretBytes?
    package var refreshToken: SecretBytes?
    package var idToken: SecretBytes?
    package var tokenType: String?
    package var scope: String?
    /// Seconds, rounded down; nil if the server did not say, or said no number from 0 to a century.
    package var expiresIn: Int64?
    /// Whether the access token was left out because no header with `Bearer` can carry it.
    private var isOfAnotherType = false
    /// The members that have no meaning here; kept in the record.
    package var others: [(name: String, value: JSONValue)] = []

    /// Reads a response without judging it: a member of a wrong type counts as missing, as does an access token that no
    /// header with `Bearer` can carry.
    ///
    /// - Returns: nil if the bytes are neither a JSON object nor a form.
    package init?(reading bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard let json = JSONValue.answer(bytes) else { return nil }
        try self.init(json)
        guard !TokenResponse.isBearer(json["token_type"]) else { return }
        isOfAnotherType = accessToken != nil
        accessToken = nil
        tokenType = nil
    }

    /// The fault of an answer without an access token, for messages.
    var missingToken: String {
        isOfAnotherType ? "the token_type of its answer is not Bearer" : "its answer has no access_token"
    }

    private init(_ json: JSONValue) throws(TokenKeepError) {
        accessToken = try TokenResponse.token(json["access_token"])
        refreshToken = try TokenResponse.token(json["refresh_token"])
        idToken = try TokenResponse.token(json["id_token"])
        tokenType = json["token_type"].flatMap { $0.isBlank ? nil : $0.text }
        scope = json["scope"].flatMap { $0.text ?? ($0.texts.isEmpty ? nil : $0.texts.joined(separator: " ")) }
        expiresIn = TokenResponse.seconds(json["expires_in"])
        for name in json.names where !TokenResponse.known.contains(name) {
            if let value = json[name] { others.append((name, value)) }
        }
    }

    package init(accessToken: SecretBytes, refreshToken: SecretBytes?, expiresIn: Int64?) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiresIn = expiresIn
    }

    /// Reads a response with which a session begins.
    ///
    /// - Throws: ``Status/invalid``, naming the member; ``Status/unsupported`` for DPoP.
    package static func strict(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> TokenResponse {
        guard bytes.count <= JSONValue.maximumLength else {
            throw TokenKeepError(.invalid, "the token response is longer than 256 KiB")
        }
        guard let json = JSONValue.answer(bytes) else {
            throw TokenKeepError(
                .invalid, "the token response is neither a JSON object nor a form",
                hint: "pass on the server's answer as it came")
        }
        let response = try TokenResponse(json)
        for name in ["access_token", "refresh_token", "id_token"] {
            guard let member = json[name], name == "access_token" || !member.isBlank else { continue }
            guard try token(member) != nil else {
                throw TokenKeepError(.invalid, "\(name) of the token response is no token")
            }
        }
        guard response.accessToken != nil else {
            throw TokenKeepError(.invalid, "the token response has no access_token")
        }
        guard let type = json["token_type"], !isBearer(type) else { return response }
        guard type.text?.lowercased() != "dpop" else {
            throw TokenKeepError(
                .unsupported, "the tokens of the response are bound to a key (DPoP), which TokenKeep does not keep",
                hint: "sign in with a client for which the server gives Bearer tokens")
        }
        throw TokenKeepError(.invalid, "the token_type of the response is not Bearer")
    }

    /// Whether an Authorization header with `Bearer` can carry tokens of a type: `bearer` in any case, and Apigee's
    /// `BearerToken`.
    static func isBearer(_ type: String) -> Bool {
        ["bearer", "bearertoken"].contains(type.lowercased().filter { $0 != " " })
    }

    /// A missing type counts as Bearer.
    private static func isBearer(_ type: JSONValue?) -> Bool {
        guard let type, !type.isBlank else { return true }
        return type.text.map(isBearer) ?? false
    }

    /// Seconds from `now` to the end of the access token: what the server said, else the claim `exp` of a JSON Web Token;
    /// nil if neither says.
    ///
    /// - Parameter offset: the server's clock minus the wall clock, in seconds.
    func lifetime(at now: SessionTime, offset: Int64) -> Int64? {
        expiresIn ?? accessToken.flatMap { TokenResponse.lifetime(of: $0, at: now, offset: offset) }
    }

    /// Seconds to the end that a JSON Web Token claims; nil if the token is opaque, or claims none.
    static func lifetime(of token: SecretBytes, at now: SessionTime, offset: Int64 = 0) -> Int64? {
        guard let end = UnverifiedClaims(unverified: token)?.seconds("exp"), end > 0 else { return nil }
        return max(0, end - now.wall - offset)
    }

    /// The person of the ID token; nil if there is none that can be read.
    var identity: TokenIdentity? { idToken.flatMap { TokenIdentity(idToken: $0) } }

    private static let known: Set<String> = [
        "access_token", "refresh_token", "id_token", "token_type", "scope", "expires_in",
    ]

    /// A token without control characters; nil for anything else (RFC 6749 appendix A.12).
    private static func token(_ member: JSONValue?) throws(TokenKeepError) -> SecretBytes? {
        guard let secret = try member?.secret(), isToken(secret) else { return nil }
        return secret
    }

    /// Whether bytes can be sent as a token: at least one, no control characters, and no U+FFFD, which stands for bytes that
    /// could not be read.
    package static func isToken(_ secret: SecretBytes) -> Bool {
        secret.withUnsafeBytes { bytes in
            !bytes.isEmpty && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
                && !bytes.indices.contains {
                    bytes[$0] == AnswerText.unreadable[0] && bytes[$0...].starts(with: AnswerText.unreadable)
                }
        }
    }

    /// Seconds that a member names, rounded down; nil for no number from 0 to a century.
    package static func seconds(_ member: JSONValue?) -> Int64? {
        guard let number = member?.number?.rounded(.down), (0...longestLife).contains(number) else { return nil }
        return Int64(number)
    }

    /// A century. A longer life is no number that a server means.
    private static let longestLife = 3_155_760_000.0
}
