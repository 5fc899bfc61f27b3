import TokenKeepCore
import TokenKeepSession

/// The user who signed in, as the server names him.
package struct SignedInPerson: Sendable, Equatable {
    /// The server; nil if it does not say.
    let issuer: String?
    /// The server's own name of the user, which it never gives to another one; nil if it does not say.
    let subject: String?
    /// The names that people use, the account's first.
    let names: [String]

    /// The person of an ID token's claims, or of the answer of a userinfo endpoint.
    ///
    /// - Parameter claims: the claims that name the account, in this order.
    init(_ claims: [String], _ claim: (String) -> String?) {
        issuer = claim("iss").map(TokenIdentity.fullIssuer)
        subject = claim("sub")
        names = (claims + ["email", "preferred_username", "upn"]).compactMap(claim).filter { !$0.isEmpty }
    }

    /// The account that the server names; nil if it names none.
    package var account: String? { names.first }

    /// The person in a message.
    package var label: String { PlainText.printable(names.first ?? subject ?? "a user without a name") }

    /// The person in a message that tells users of one name apart.
    var fullLabel: String { subject.map { "\(label) (sub \(PlainText.printable($0)))" } ?? label }

    /// Whether the person certainly is another one. nil if nobody can tell.
    func isOther(than other: SignedInPerson) -> Bool? {
        guard let subject, let known = other.subject else { return nil }
        if let issuer, let expected = other.issuer, !PlainText.areSame(issuer, expected) { return nil }
        return !PlainText.areSame(subject, known)
    }

    /// Whether an account that reads like an address certainly is another person's. nil if nobody can tell.
    func isOther(than account: String) -> Bool? {
        guard SignedInPerson.isAddress(account) else { return nil }
        let addresses = names.filter(SignedInPerson.isAddress)
        guard !addresses.isEmpty else { return nil }
        return !addresses.contains {
            $0.utf8.elementsEqual(account.utf8) { SignedInPerson.folded($0) == SignedInPerson.folded($1) }
        }
    }

    /// Whether the server calls the person by an account's name.
    package func isCalled(_ account: String) -> Bool {
        (names + [subject].compactMap { $0 }).contains { PlainText.areSame($0, account) }
            || isOther(than: account) == false
    }

    /// Whether a name has the form of an email address.
    private static func isAddress(_ name: String) -> Bool {
        let parts = name.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && !$0.contains(0x20) }
    }

    /// An ASCII letter in lower case.
    private static func folded(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }
}
