import TokenKeepCore
import TokenKeepTerminal

/// The credential of an account: the item's secret, or the access token of its session.
struct Credential {
    /// The details of the item; those of the session's record for a session.
    let details: ItemDetails
    let secret: SecretBytes
    /// When the secret expires; nil if unknown.
    let expiresAt: UnixTime?
    let isSession: Bool

    var account: String { details.name.account }

    /// The item's name for people: without an empty account.
    var title: String { account.isEmpty ? details.name.service : details.name.description }

    /// Refuses a secret that is over, for a protocol without a word for it.
    func checkNotExpired(hint: String) throws(TokenKeepError) {
        guard let expiresAt, expiresAt <= .now else { return }
        throw TokenKeepError(.expired, "\(title) expired at \(expiresAt.iso8601)", hint: hint)
    }

    /// Refuses to keep a token that no line and no header could carry.
    static func checkOneLine(_ token: SecretBytes) throws(TokenKeepError) {
        guard token.count > 0 else { throw TokenKeepError(.invalid, "the token is empty") }
        guard !token.hasControlByte else {
            throw TokenKeepError(.invalid, "the token is not one line of text")
        }
    }

    /// Refuses a secret that a value of git's protocol does not carry. git keeps passwords with other control characters.
    func checkGitValue() throws(TokenKeepError) {
        let hasEnd = secret.withUnsafeBytes { bytes in bytes.contains { [0, 0x0A, 0x0D].contains($0) } }
        if hasEnd { try checkOneLine() }
    }

    /// Refuses a secret with a line break or another control character, which the protocol's lines and headers do not carry.
    func checkOneLine() throws(TokenKeepError) {
        guard !secret.hasControlByte else {
            throw TokenKeepError(
                .invalid, "the secret of \(title) is not one line of text", hint: "save it anew with --strip-newline")
        }
    }
}
