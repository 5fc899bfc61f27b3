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
        guard !isOfSupabase(json) else { return json["error_code"]?.text }
        return json["error"]?["code"]?.text.flatMap { known.contains($0.lowercased()) ? $0 : nil }
    }

    /// Whether the error has the form of Supabase: `error_code` names the error, and `error` is missing or blank. A
    /// gateway that uses the same codes sends them in `error`.
    static func isOfSupabase(_ json: JSONValue) -> Bool { json["error"]?.isBlank ?? true }

    /// The error code to show in messages. Unlike ``code(_:inObject:)``, includes the codes of gateways and proxies.
    private static func name(of json: JSONValue) -> String? {
        let error = json["error"]
        return error?.text ?? error?["code"]?.text ?? error?["type"]?.text ?? error?["status"]?.text
            ?? json["error_code"]?.text
    }

    /// The description of the error; nil if the body has none.
    package static func description(_ json: JSONValue) -> String? {
        json["error_description"]?.text ?? json["error"]?["message"]?.text ?? json["error"]?["description"]?.text
            ?? json["msg"]?.text
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
