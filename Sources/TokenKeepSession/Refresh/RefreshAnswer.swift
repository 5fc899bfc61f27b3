package import TokenKeepCore

/// The meaning of the server's answer to a refresh.
package enum RefreshAnswer {
    /// The server gave tokens.
    case tokens(TokenResponse)
    /// The server refuses the refresh token.
    case refused
    /// The server refuses the client or the scope. The session stays.
    case denied(String)
    /// The server asks to wait: seconds, nil if it did not say. `mayHaveRotated` if the token may have been used.
    case coolDown(Int64?, mayHaveRotated: Bool)
    /// The request may have been carried out.
    case unknown(String)

    /// Judges an answer.
    ///
    /// - Parameter serverTime: the server's clock, for a date in Retry-After.
    package static func judge(_ response: SessionResponse, serverTime: Int64) throws(TokenKeepError) -> RefreshAnswer {
        guard response.body.count <= JSONValue.maximumLength else { return .unknown("its answer is too long") }
        switch response.status {
        case 200..<300: return try success(response)
        case 429, 503:
            return .coolDown(response.wait(serverTime: serverTime), mayHaveRotated: response.status == 503)
        case 400, 401:
            if response.status == 400, response.body.count == 0 { return .refused }
            return refusal(errorWord(response) ?? "") ?? .unknown("it answered \(response.status)")
        default: return .unknown("it answered \(response.status)")
        }
    }

    private static func success(_ response: SessionResponse) throws(TokenKeepError) -> RefreshAnswer {
        let tokens = try response.body.withUnsafeBytes { bytes throws(TokenKeepError) in
            try TokenResponse(reading: bytes)
        }
        guard let tokens else { return .unknown("its answer is neither a JSON object nor a form") }
        guard tokens.accessToken != nil || tokens.refreshToken != nil else {
            // GitHub answers 200 with an error.
            return errorWord(response).flatMap(refusal) ?? .unknown("its answer has no access_token")
        }
        return .tokens(tokens)
    }

    /// The meaning of an error word; nil if it is another one.
    private static func refusal(_ word: String) -> RefreshAnswer? {
        switch word {
        case "invalid_grant", "bad_refresh_token": .refused
        case "invalid_client", "unauthorized_client", "invalid_scope", "invalid_target",
            "incorrect_client_credentials":
            .denied(word)
        default: nil
        }
    }

    /// The word of an error response (RFC 6749 section 5.2).
    private static func errorWord(_ response: SessionResponse) -> String? {
        response.body.withUnsafeBytes { JSONValue.answer($0) }?["error"]?.text
    }
}
