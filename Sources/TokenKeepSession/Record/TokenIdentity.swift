package import TokenKeepCore

/// The person whom an ID token names (OpenID Connect Core section 2): an issuer, and a subject that is unique at this
/// issuer.
package struct TokenIdentity: Sendable {
    /// The claim `iss`; nil if the token has none.
    package let issuer: String?
    /// The claim `sub`; nil if the token has none.
    package let subject: String?

    /// Reads an ID token without verifying it; nil if the token is unreadable, or names neither issuer nor subject.
    package init?(idToken: SecretBytes) {
        guard let claims = UnverifiedClaims(unverified: idToken) else { return nil }
        self.init(issuer: claims.unverified("iss"), subject: claims.unverified("sub"))
    }

    init?(issuer: String?, subject: String?) {
        guard issuer != nil || subject != nil else { return nil }
        self.issuer = issuer.map(TokenIdentity.fullIssuer)
        self.subject = subject
    }

    /// Whether the two ID tokens certainly name different people. A claim that one of the tokens lacks is not compared.
    package func differs(from other: TokenIdentity) -> Bool {
        func differ(_ one: String?, _ other: String?) -> Bool {
            guard let one, let other else { return false }
            return !one.utf8.elementsEqual(other.utf8)
        }
        return differ(issuer, other.issuer) || differ(subject, other.subject)
    }

    /// The issuer with its scheme, which Google leaves out (OpenID Connect Core section 15.6).
    package static func fullIssuer(_ issuer: String) -> String {
        issuer.utf8.elementsEqual("accounts.google.com".utf8) ? "https://\(issuer)" : issuer
    }
}

extension SessionRecord {
    static let identityMember = "identity"

    /// The person to whom the session belongs, according to its ID tokens; nil if none names a person.
    package var identity: TokenIdentity? {
        guard let json = json[SessionRecord.identityMember] else {
            return (try? json["id_token"]?.secret()).flatMap { $0 }.flatMap { TokenIdentity(idToken: $0) }
        }
        return TokenIdentity(issuer: json["iss"]?.text, subject: json["sub"]?.text)
    }

    /// Stores the person whom the session's first ID token with a subject names. Later ID tokens do not change this
    /// person.
    func keepIdentity(_ response: TokenResponse) throws(TokenKeepError) {
        let present = identity
        guard json[SessionRecord.identityMember]?["sub"] == nil,
            let found = present?.subject == nil ? response.identity ?? present : present
        else { return }
        let json = try JSONValue.object()
        if let issuer = found.issuer { try json.set("iss", issuer) }
        if let subject = found.subject { try json.set("sub", subject) }
        try self.json.set(SessionRecord.identityMember, json)
    }
}
