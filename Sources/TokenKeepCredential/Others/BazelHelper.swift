import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// Bazel's credential helper, which uv and other programs call, too. `get` returns HTTP headers for an address, and the
/// time at which they expire.
enum BazelHelper {
    /// The attribute of an item that selects the form of the header: `basic` or `bearer`. Without this attribute, the
    /// form is `bearer` for a session and for an item without an account, otherwise `basic`.
    private static let attribute = "authorization"

    /// Reads the request for an address and writes the headers.
    static func run(_ invocation: inout Invocation) throws {
        let operation = try invocation.requiredWord("the operation")
        guard operation == "get" else {
            throw TokenKeepError(.invalid, "Bazel's helper has no operation \(operation)")
        }
        guard let uri = try JSONRequest.read(RequestInput.all()).string("uri") else {
            throw TokenKeepError(.invalid, "the request has no uri")
        }
        let origin = try WebOrigin(uri)
        let answer = try JSONValue.object()
        let headers = try JSONValue.object()
        if let found = try CredentialStore(invocation).credential(of: origin.text, origin.username) {
            let words = [origin.text, found.account].map(ShellWord.quoted).joined(separator: " ")
            try found.checkNotExpired(hint: "save a new one: tokenkeep save \(words)")
            let values = try JSONValue.array()
            try values.append(authorization(found))
            try headers.set("Authorization", values)
            if let expiresAt = found.expiresAt { try answer.set("expires", expiresAt.iso8601) }
        }
        try answer.set("headers", headers)
        try JSONRequest.write(answer)
    }

    /// Returns the value of the header `Authorization`.
    private static func authorization(_ found: Credential) throws(TokenKeepError) -> SecretBytes {
        try found.checkOneLine()
        var text = SecretText()
        let words =
            found.details.attributes[attribute] ?? (found.account.isEmpty || found.isSession ? "bearer" : "basic")
        switch words {
        case "bearer":
            text.append("Bearer ")
            text.append(found.secret)
        case "basic":
            var pair = SecretText()
            pair.append("\(found.account):")
            pair.append(found.secret)
            text.append("Basic ")
            let bytes = try pair.joined()
            text.append(try bytes.withUnsafeBytes { (bytes) throws(TokenKeepError) in try Base64Text.encoded(bytes) })
        default:
            throw TokenKeepError(
                .invalid, "the attribute \(attribute) of \(found.title) is neither basic nor bearer")
        }
        return try text.joined()
    }
}
