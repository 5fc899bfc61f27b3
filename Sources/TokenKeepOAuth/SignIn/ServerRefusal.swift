import TokenKeepCore
import TokenKeepSession

/// Prepares and compares texts from servers.
enum PlainText {
    private static let longest = 200

    /// Returns the first 200 bytes of a text. Replaces every byte that is not printable ASCII by a question mark.
    static func printable(_ text: String) -> String {
        String(decoding: text.utf8.prefix(longest).map { (0x20...0x7E).contains($0) ? $0 : 0x3F }, as: UTF8.self)
    }

    /// Whether a server's text has exactly the expected bytes. Swift's `==` also accepts other Unicode forms.
    static func areSame(_ found: String?, _ expected: String) -> Bool {
        found.map { $0.utf8.elementsEqual(expected.utf8) } ?? false
    }
}

/// Converts error answers of servers (RFC 6749 sections 4.1.2.1 and 5.2) to errors.
enum ServerRefusal {
    /// Returns the error for a server's error code: ``Status/cancelled`` for `access_denied`, ``Status/unavailable`` if
    /// the server can be asked again later, otherwise ``Status/denied``.
    static func error(_ code: String, _ description: String?, of step: String) -> TokenKeepError {
        let words = description.map { ": " + PlainText.printable($0) } ?? ""
        let text = "the server refused \(step): \(PlainText.printable(code))\(words)"
        switch code {
        case "access_denied":
            return TokenKeepError(.cancelled, "\(step) was refused by the user or the server\(words)")
        case "temporarily_unavailable", "server_error":
            return TokenKeepError(.unavailable, text, module: "server", hint: "try again later")
        case "invalid_scope", "invalid_target", "invalid_resource":
            return TokenKeepError(.denied, text, hint: "check --scope, --resource and --audience")
        case "invalid_client", "unauthorized_client":
            return TokenKeepError(.denied, text, hint: "check client_id, client_secret and auth_method of the provider")
        default: return TokenKeepError(.denied, text)
        }
    }

    /// The error code in an answer; "" if the answer has no error code.
    static func code(of response: HTTPResponse) -> String { json(response).flatMap(code) ?? "" }

    private static func code(_ json: JSONValue) -> String? { ServerWords.code(json, inObject: standardCodes) }

    /// The error codes of RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628 section 3.5 and RFC 8707.
    private static let standardCodes: Set = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope", "invalid_target", "access_denied", "server_error", "temporarily_unavailable",
        "authorization_pending", "slow_down", "expired_token",
    ]

    /// Whether an answer is a refusal: an error status, or an error code. GitHub sends error codes with status 200.
    static func isRefusal(_ response: HTTPResponse) -> Bool {
        !(200...299).contains(response.status) || !code(of: response).isEmpty
    }

    /// Whether an answer has a status from 200 to 299 and an access token.
    static func givesTokens(_ response: HTTPResponse) -> Bool {
        (200...299).contains(response.status) && json(response)?["access_token"].map { !$0.isBlank } ?? false
    }

    /// The error for an answer without tokens.
    static func error(_ response: HTTPResponse, of step: String) -> TokenKeepError {
        let json = json(response)
        if let json, let code = code(json) { return error(code, ServerWords.description(json), of: step) }
        let text = "the server answered \(step) with status \(response.status)"
        if response.status >= 500 || response.status == 429 {
            return TokenKeepError(.unavailable, text, module: "server", hint: "try again later")
        }
        // Only an answer in the form of a token endpoint counts as a refusal. A web page comes from a portal, a proxy
        // or a wrong address.
        let isRefusal = [400, 401, 403].contains(response.status) && (json != nil || response.body.count == 0)
        return isRefusal ? TokenKeepError(.denied, text, module: "server") : strange(text)
    }

    /// The error for an answer that does not come from a token endpoint.
    static func strange(_ message: String) -> TokenKeepError {
        TokenKeepError(
            .unavailable, message, module: "server",
            hint: "check the provider's endpoints and the network: a proxy or a portal may have answered")
    }

    static func json(_ response: HTTPResponse) -> JSONValue? {
        response.body.withUnsafeBytes { JSONValue.answer($0) }
    }
}
