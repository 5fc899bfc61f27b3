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
    /// The members that have no meaning here; kept in the record.
    package var others: [(name: String, value: JSONValue)] = []

    /// Reads a response without judging it: a member of a wrong type counts as missing.
    ///
    /// - Returns: nil if the bytes are neither a JSON object nor a form.
    package init?(reading bytes: UnsafeRawBufferPointer) throws(TokenKeepError) {
        guard let json = JSONValue.answer(bytes) else { return nil }
        try self.init(json)
    }

    private init(_ json: JSONValue) throws(TokenKeepError) {
        accessToken = try TokenResponse.token(json["access_token"])
        refreshToken = try TokenResponse.token(json["refresh_token"])
        idToken = try TokenResponse.token(json["id_token"])
        tokenType = json["token_type"]?.text
        scope = json["scope"]?.text
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
            guard let member = json[name] else { continue }
            guard try token(member) != nil else {
                throw TokenKeepError(.invalid, "\(name) of the token response is no token")
            }
        }
        guard response.accessToken != nil else {
            throw TokenKeepError(.invalid, "the token response has no access_token")
        }
        if let type = json["token_type"] { try check(type: type.text ?? "") }
        return response
    }

    /// Refuses a type of token that an Authorization header with `Bearer` cannot carry.
    package static func check(type: String) throws(TokenKeepError) {
        switch type.lowercased() {
        case "bearer": return
        case "dpop":
            throw TokenKeepError(
                .unsupported, "the token_type of the response is DPoP", hint: "ask the server for Bearer tokens")
        default: throw TokenKeepError(.invalid, "the token_type of the response is not Bearer")
        }
    }

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

    private static func seconds(_ member: JSONValue?) -> Int64? {
        guard let number = member?.number?.rounded(.down), (0...longestLife).contains(number) else { return nil }
        return Int64(number)
    }

    /// A century. A longer life is no number that a server means.
    private static let longestLife = 3_155_760_000.0
}
