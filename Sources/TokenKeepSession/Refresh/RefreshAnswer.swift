package import TokenKeepCore

/// The meaning of the server's answer to a refresh.
package enum RefreshAnswer {
    /// The server sent tokens.
    case tokens(TokenResponse)
    /// The server refuses the refresh token. The text is the server's error message.
    case refused(String)
    /// The server requires the user to sign in, to consent or to prove a second factor. The text is the server's error
    /// message.
    case interaction(String)
    /// The server refuses the client or the scope. The text is the server's error message. The session continues.
    case denied(String, isAboutClient: Bool)
    /// The server demands a wait of a number of seconds; nil if it states no number. `mayHaveRotated` is true if the
    /// server may already have replaced the refresh token.
    case coolDown(Int64?, mayHaveRotated: Bool)
    /// It is unknown whether the server carried out the request. The text describes the faulty answer, with the
    /// server's message.
    case unknown(String)

    /// Determines the meaning of an answer.
    ///
    /// - Parameters:
    ///   - token: the refresh token that was sent. A message of the server that contains this token is left out.
    ///   - serverTime: the server's time in Unix seconds, for a date in Retry-After.
    package static func judge(
        _ response: SessionResponse, to token: SecretBytes? = nil, serverTime: Int64
    ) throws(TokenKeepError) -> RefreshAnswer {
        guard response.body.count <= JSONValue.maximumLength else { return .unknown("its answer is too long") }
        switch response.status {
        case 200..<300: return try success(response, token)
        case 429, 503:
            return .coolDown(response.wait(serverTime: serverTime), mayHaveRotated: response.status == 503)
        case 400 where response.body.count == 0: return .refused("")
        default:
            let (meaning, words) = error(response, token)
            if let meaning, (400..<500).contains(response.status) { return meaning }
            return .unknown("it answered \(response.status)" + (words.isEmpty ? "" : " (\(words))"))
        }
    }

    private static func success(
        _ response: SessionResponse, _ token: SecretBytes?
    ) throws(TokenKeepError) -> RefreshAnswer {
        let tokens = try response.body.withUnsafeBytes { bytes throws(TokenKeepError) in
            try TokenResponse(reading: bytes)
        }
        guard let tokens else { return .unknown("its answer is neither a JSON object nor a form") }
        guard tokens.accessToken != nil || tokens.refreshToken != nil else {
            // GitHub reports errors with status 200.
            let (meaning, words) = error(response, token)
            return meaning ?? .unknown(tokens.missingToken + (words.isEmpty ? "" : " (\(words))"))
        }
        return .tokens(tokens)
    }

    /// Returns the refusal that an error code means; nil if the code means no refusal.
    ///
    /// A code that refuses the token counts with every status, because Auth0 and Supabase refuse with 403 and 404. A
    /// code that requires the user counts only with 400, 401 and 403 (RFC 6749, RFC 9470), because a gateway in front
    /// of the server may ask for its own sign-in with other statuses.
    private static func refusal(
        _ code: String, _ words: String, _ status: Int, isOfSupabase: Bool
    ) -> RefreshAnswer? {
        if asksForUser.contains(code) { return [400, 401, 403].contains(status) ? .interaction(words) : nil }
        if refusesToken.contains(code) || isOfSupabase && supabaseRefusesToken.contains(code) { return .refused(words) }
        let isAboutClient = refusesClient.contains(code)
        return isAboutClient || refusesScope.contains(code) ? .denied(words, isAboutClient: isAboutClient) : nil
    }

    /// The error codes of OpenID Connect Core section 3.1.2.6, Auth0 and RFC 9470.
    private static let asksForUser: Set = [
        "interaction_required", "login_required", "consent_required", "account_selection_required", "mfa_required",
        "unmet_authentication_requirements", "insufficient_user_authentication",
    ]
    /// The error codes of RFC 6749 section 5.2, GitHub and Slack.
    private static let refusesToken: Set = ["invalid_grant", "bad_refresh_token", "invalid_refresh_token"]
    private static let supabaseRefusesToken: Set = [
        "refresh_token_not_found", "refresh_token_already_used", "session_not_found", "session_expired",
    ]
    private static let refusesClient: Set = ["invalid_client", "unauthorized_client", "incorrect_client_credentials"]
    /// The error codes of RFC 6749 section 5.2, RFC 8707 and Microsoft Entra ID.
    private static let refusesScope: Set = ["invalid_scope", "invalid_target", "invalid_resource"]

    /// Returns the refusal that an error response (RFC 6749 section 5.2) means, and its message. The refusal is nil if
    /// the response means none.
    ///
    /// If the member `error` is an object, the code inside it counts only with the statuses 200, 400 and 401, because
    /// gateways send such objects with other statuses.
    private static func error(
        _ response: SessionResponse, _ token: SecretBytes?
    ) -> (meaning: RefreshAnswer?, words: String) {
        guard let json = response.body.withUnsafeBytes({ JSONValue.answer($0) }) else { return (nil, "") }
        let known: Set<String> = [200, 400, 401].contains(response.status) ? ["invalid_grant"] : []
        let words = ServerWords.text(json, hiding: token)
        guard let code = ServerWords.code(json, inObject: known) else { return (nil, words) }
        let isOfSupabase = ServerWords.isOfSupabase(json)
        return (refusal(code.lowercased(), words, response.status, isOfSupabase: isOfSupabase), words)
    }
}
