import TokenKeepCore
import TokenKeepTerminal

/// The credential of an account: the item's secret, or the access token of its session.
struct Credential {
    /// The details of the item or, for a session, of the session's record.
    let details: ItemDetails
    let secret: SecretBytes
    /// The time at which the secret expires; nil if unknown.
    let expiresAt: UnixTime?
    let isSession: Bool

    var account: String { details.name.account }

    /// The item's name for messages: the service alone if the account is empty.
    var title: String { account.isEmpty ? details.name.service : details.name.description }

    /// Throws ``Status/expired`` if the secret has expired.
    func checkNotExpired(hint: String) throws(TokenKeepError) {
        guard let expiresAt, expiresAt <= .now else { return }
        throw TokenKeepError(.expired, "\(title) expired at \(expiresAt.iso8601)", hint: hint)
    }

    /// Throws ``Status/invalid`` if a token to save is empty or contains a control character. The protocol's lines and
    /// headers cannot contain control characters.
    static func checkOneLine(_ token: SecretBytes) throws(TokenKeepError) {
        guard token.count > 0 else { throw TokenKeepError(.invalid, "the token is empty") }
        guard !token.hasControlByte else {
            throw TokenKeepError(.invalid, "the token is not one line of text")
        }
    }

    /// Throws ``Status/invalid`` if the secret contains a NUL, a line feed or a carriage return, which a value of git's
    /// protocol cannot contain. git accepts passwords with other control characters.
    func checkGitValue() throws(TokenKeepError) {
        let hasEnd = secret.withUnsafeBytes { bytes in bytes.contains { [0, 0x0A, 0x0D].contains($0) } }
        if hasEnd { try checkOneLine() }
    }

    /// Throws ``Status/invalid`` if the secret contains a control character, for example a line feed. The protocol's
    /// lines and headers cannot contain control characters.
    func checkOneLine() throws(TokenKeepError) {
        guard !secret.hasControlByte else {
            throw TokenKeepError(
                .invalid, "the secret of \(title) is not one line of text", hint: "save it anew with --strip-newline")
        }
    }
}
