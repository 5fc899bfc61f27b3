package import TokenKeepCore

/// The person of an ID token (OpenID Connect Core section 2): a subject, and the issuer to which it belongs.
package struct TokenIdentity: Sendable {
    /// The claim `iss`; nil if the token has none.
    package let issuer: String?
    /// The claim `sub`; nil if the token has none.
    package let subject: String?

    /// Reads an ID token, unverified; nil if the token is unreadable, or names neither issuer nor subject.
    package init?(idToken: SecretBytes) {
        guard let claims = UnverifiedClaims(unverified: idToken) else { return nil }
        self.init(issuer: claims.unverified("iss"), subject: claims.unverified("sub"))
    }

    init?(issuer: String?, subject: String?) {
        guard issuer != nil || subject != nil else { return nil }
        self.issuer = issuer.map(TokenIdentity.fullIssuer)
        self.subject = subject
    }

    /// Whether the ID tokens of both certainly are of different people.
    package func differs(from other: TokenIdentity) -> Bool {
        func differ(_ one: String?, _ other: String?) -> Bool {
            guard let one, let other else { return false }
            return !one.utf8.elementsEqual(other.utf8)
        }
        return differ(issuer, other.issuer) || differ(subject, other.subject)
    }

    /// The issuer with its scheme: Google leaves it out (OpenID Connect Core section 15.6).
    package static func fullIssuer(_ issuer: String) -> String {
        issuer.utf8.elementsEqual("accounts.google.com".utf8) ? "https://\(issuer)" : issuer
    }
}

extension SessionRecord {
    static let identityMember = "identity"

    /// The person whose session it is, as far as an ID token said.
    package var identity: TokenIdentity? {
        guard let json = json[SessionRecord.identityMember] else {
            return (try? json["id_token"]?.secret()).flatMap { $0 }.flatMap { TokenIdentity(idToken: $0) }
        }
        return TokenIdentity(issuer: json["iss"]?.text, subject: json["sub"]?.text)
    }

    /// Notes the person of the session's first ID token with a subject, before the answer's takes its place.
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
