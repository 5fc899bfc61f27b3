import TokenKeepCore

/// The server's own words about an error (RFC 6749 section 5.2), fit for a message.
package enum ServerWords {
    /// The longest text, in bytes.
    private static let longest = 200
    /// A shorter text is no token: it may stand in any sentence by chance.
    private static let shortestToken = 8

    /// `error` and `error_description`; Supabase's `error_code` and `msg` likewise; "" if the body has none.
    ///
    /// - Parameter token: the token that was sent. Words that repeat it are left out.
    static func text(_ json: JSONValue, hiding token: SecretBytes?) -> String {
        let words = [name(of: json), description(json)]
        return words.compactMap { $0 }.filter { !$0.isEmpty && !repeats(token, in: $0) }.map(printable)
            .joined(separator: ": ")
    }

    /// The code of the error: a word of RFC 6749 section 5.2 or of Supabase; nil if the body has none.
    ///
    /// - Parameter known: the codes that count in an object `error`: gateways and proxies answer with such objects too.
    package static func code(_ json: JSONValue, inObject known: Set<String>) -> String? {
        if let text = json["error"]?.text { return text }
        guard let code = json["error"]?["code"]?.text else { return json["error_code"]?.text }
        return known.contains(code) ? code : nil
    }

    /// The word for the error in messages, whoever chose it.
    private static func name(of json: JSONValue) -> String? {
        let error = json["error"]
        return error?.text ?? error?["code"]?.text ?? error?["type"]?.text ?? error?["status"]?.text
            ?? json["error_code"]?.text
    }

    /// The sentence about the error; nil if the body has none.
    package static func description(_ json: JSONValue) -> String? {
        json["error_description"]?.text ?? json["error"]?["message"]?.text ?? json["error"]?["description"]?.text
            ?? json["msg"]?.text
    }

    /// The first 200 bytes, with a question mark for each character that controls a terminal or the direction of a line.
    package static func printable(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate:
                result.unicodeScalars.append("?")
            default: result.unicodeScalars.append(scalar)
            }
            // An answer may have 256 KiB.
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
