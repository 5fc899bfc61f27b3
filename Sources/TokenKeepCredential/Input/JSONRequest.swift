import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// Reads and writes the JSON objects of the protocols.
enum JSONRequest {
    /// Parses one JSON object. Throws ``Status/invalid`` if the bytes are not one JSON object, or if a member occurs
    /// twice.
    ///
    /// - Parameter what: the source of the bytes, for error messages.
    static func read(_ bytes: SecretBytes, from what: String = "standard input") throws(TokenKeepError) -> JSONValue {
        guard let value = bytes.withUnsafeBytes({ JSONValue(parsing: $0, atMost: RequestInput.longest) }) else {
            throw TokenKeepError(.invalid, "\(what) is not one JSON object with each member once")
        }
        return value
    }

    /// Writes an object as one line.
    static func write(_ value: JSONValue) throws {
        var text = SecretText()
        text.append(try value.serialized())
        text.append("\n")
        try text.write()
    }
}

extension JSONValue {
    /// The value of a member, which must be a string; nil if the member is absent or null.
    func string(_ name: String) throws(TokenKeepError) -> String? {
        guard let member = self[name], !(member.isBlank && member.text == nil) else { return nil }
        guard let text = member.text else { throw JSONValue.noString(name) }
        return text
    }

    /// The secret value of a member, which must be a string; nil if the member is absent or null.
    func secretString(_ name: String) throws(TokenKeepError) -> SecretBytes? {
        guard let member = self[name], !(member.isBlank && member.text == nil) else { return nil }
        guard let secret = try member.secret() else { throw JSONValue.noString(name) }
        return secret
    }

    private static func noString(_ name: String) -> TokenKeepError {
        TokenKeepError(.invalid, "the member \(name) is no string")
    }
}
