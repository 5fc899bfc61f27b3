import TokenKeepCore
import TokenKeepSession

/// The user who signed in, as the server names them.
package struct SignedInPerson: Sendable, Equatable {
    /// The issuer that named the user; nil if unknown.
    let issuer: String?
    /// The user's id at the issuer, which is never assigned to another user; nil if unknown.
    let subject: String?
    /// The user's names; the first one is used as the account.
    let names: [String]

    /// Reads the user from the claims of an ID token, or of a userinfo endpoint's answer.
    ///
    /// - Parameter claims: the names of the claims that may name the account, the preferred claim first.
    init(_ claims: [String], _ claim: (String) -> String?) {
        issuer = claim("iss").map(TokenIdentity.fullIssuer)
        subject = claim("sub")
        names = (claims + ["email", "preferred_username", "upn"]).compactMap(claim).filter { !$0.isEmpty }
    }

    /// The account that the server names; nil if the server names no account.
    package var account: String? { names.first }

    /// The user's name for messages.
    package var label: String { PlainText.printable(names.first ?? subject ?? "a user without a name") }

    /// The user's name and id for messages. The id distinguishes users with the same name.
    var fullLabel: String { subject.map { "\(label) (sub \(PlainText.printable($0)))" } ?? label }

    /// Whether the two values certainly describe different people; nil if this cannot be determined.
    func isOther(than other: SignedInPerson) -> Bool? {
        guard let subject, let known = other.subject else { return nil }
        if let issuer, let expected = other.issuer, !PlainText.areSame(issuer, expected) { return nil }
        return !PlainText.areSame(subject, known)
    }

    /// Whether an account that has the form of an email address certainly belongs to another person; nil if unknown.
    func isOther(than account: String) -> Bool? {
        guard SignedInPerson.isAddress(account) else { return nil }
        let addresses = names.filter(SignedInPerson.isAddress)
        guard !addresses.isEmpty else { return nil }
        return !addresses.contains {
            $0.utf8.elementsEqual(account.utf8) { SignedInPerson.folded($0) == SignedInPerson.folded($1) }
        }
    }

    /// Whether the account is one of the person's names.
    package func isCalled(_ account: String) -> Bool {
        (names + [subject].compactMap { $0 }).contains { PlainText.areSame($0, account) }
            || isOther(than: account) == false
    }

    /// Whether a name has the form of an email address.
    private static func isAddress(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && !$0.contains(0x20) }
    }

    /// Returns an ASCII letter in lower case, and other bytes unchanged.
    private static func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
