import TokenKeepCore

/// The server's error message (RFC 6749 section 5.2), shortened and cleaned for output.
package enum ServerWords {
    /// The maximum length of a text, in bytes.
    private static let longest = 200
    /// The minimum length, in bytes, of a token that is searched for in a text. A shorter token may occur by chance.
    private static let shortestToken = 8

    /// The error code and the description (Supabase: `error_code` and `msg`), joined by a colon; "" if the body has
    /// neither.
    ///
    /// - Parameter token: the token that was sent. A text that contains this token is left out.
    static func text(_ json: JSONValue, hiding token: SecretBytes?) -> String {
        let words = [name(of: json), description(json)]
        return words.compactMap { $0 }.filter { !$0.isEmpty && !repeats(token, in: $0) }.map(printable)
            .joined(separator: ": ")
    }

    /// The error code, as RFC 6749 section 5.2 or Supabase (`error_code`) defines it; nil if the body has none.
    ///
    /// - Parameter known: the codes that are accepted inside an object `error`. Other codes there are ignored, because
    ///   gateways and proxies send such objects, too.
    package static func code(_ json: JSONValue, inObject known: Set<String>) -> String? {
        if let text = json["error"]?.text { return text }
        guard !isOfSupabase(json) else {
            // Later versions of Supabase's API have the code in `code`, as many gateways do.
            return json["error_code"]?.text ?? json["code"]?.text.flatMap { $0.hasPrefix("refresh_token_") ? $0 : nil }
        }
        return json["error"]?["code"]?.text.flatMap { known.contains($0.lowercased()) ? $0 : nil }
    }

    /// Whether the error has the form of Supabase: `error_code` names the error, and `error` is missing or blank. A
    /// gateway that uses the same codes sends them in `error`.
    static func isOfSupabase(_ json: JSONValue) -> Bool { json["error"]?.isBlank ?? true }

    /// The error code to show in messages. Unlike ``code(_:inObject:)``, includes the codes of gateways and proxies, and
    /// those of Okta (`errorCode`) and Cognito (`__type`).
    private static func name(of json: JSONValue) -> String? {
        let error = json["error"]
        return error?.text ?? error?["code"]?.text ?? error?["type"]?.text ?? error?["status"]?.text
            ?? json["error_code"]?.text ?? json["errorCode"]?.text ?? shownCode(json)
    }

    /// The member `code` or `__type` beside a message. Alone, `code` may be an authorization code.
    private static func shownCode(_ json: JSONValue) -> String? {
        guard json["message"] != nil || json["msg"] != nil, let code = json["code"]?.text ?? json["__type"]?.text,
            code.utf8.count <= 64,
            code.utf8.allSatisfy({
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || "_.-#".utf8.contains($0)
            })
        else { return nil }
        return code
    }

    /// The description of the error; nil if the body has none.
    package static func description(_ json: JSONValue) -> String? {
        json["error_description"]?.text ?? json["error"]?["message"]?.text ?? json["error"]?["description"]?.text
            ?? json["msg"]?.text ?? json["message"]?.text ?? json["errorSummary"]?.text
    }

    /// Returns at most the first 200 bytes of a text. Replaces each character that controls a terminal or the text
    /// direction by a question mark.
    package static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
                result.unicodeScalars.append("?")
            default: result.unicodeScalars.append(scalar)
            }
            // Stops as soon as the limit is reached, because the text may be as long as 256 KiB.
            if result.utf8.count > longest {
                result.unicodeScalars.removeLast()
                break
            }
        }
        return result
    }

    private static func repeats(_ token: SecretBytes?, in text: String) -> Bool {
        guard let token, token.count >= shortestToken else { return false }
        let words = Array(text.utf8)
        guard words.count >= token.count else { return false }
        return token.withUnsafeBytes { token in
            (0...words.count - token.count).contains { words[$0..<$0 + token.count].elementsEqual(token) }
        }
    }
}
