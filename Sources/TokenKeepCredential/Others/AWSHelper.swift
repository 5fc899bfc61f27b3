import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// The `credential_process` of AWS's programs: `aws PROFILE`.
///
/// The item's account is the id of the access key. Line 1 of the secret is the secret key; line 2, if present, is the
/// session token.
enum AWSHelper {
    /// Writes the access key of a profile.
    static func run(_ invocation: inout Invocation) throws {
        let profile = try invocation.nextWord() ?? "default"
        let service = "aws:\(profile)"
        let command = "tokenkeep save \(ShellWord.quoted(service)) ACCESS_KEY_ID"
        guard let found = try CredentialStore(invocation).credential(of: service, nil) else {
            throw TokenKeepError(.notFound, "no access key of \(service) is kept", hint: command)
        }
        try found.checkNotExpired(hint: "save a new one: \(command)")
        let lines = try lines(of: found)
        let answer = try JSONValue.object()
        try answer.set("Version", 1)
        try answer.set("AccessKeyId", found.account)
        try answer.set("SecretAccessKey", lines[0])
        if lines.count > 1 { try answer.set("SessionToken", lines[1]) }
        if let expiresAt = found.expiresAt { try answer.set("Expiration", expiresAt.iso8601) }
        try JSONRequest.write(answer)
    }

    /// Splits the secret into its one or two lines. Throws ``Status/invalid`` if the item is not an access key: it has
    /// no account, another number of lines, or a line that is empty or contains a control character.
    private static func lines(of found: Credential) throws(TokenKeepError) -> [SecretBytes] {
        let lines: [SecretBytes] = try found.secret.withUnsafeBytes { bytes throws(TokenKeepError) in
            var lines: [SecretBytes] = []
            var parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            if parts.last?.isEmpty == true { parts.removeLast() }
            for part in parts.prefix(3) { lines.append(try SecretBytes(copying: .init(rebasing: part))) }
            return lines
        }
        guard !found.account.isEmpty, 1...2 ~= lines.count, lines.allSatisfy({ $0.count > 0 && !$0.hasControlByte })
        else {
            throw TokenKeepError(
                .invalid, "the item \(found.title) is no access key",
                hint: "its account is the key's id; line 1 is the secret key, line 2 the session token if there is one")
        }
        return lines
    }
}
