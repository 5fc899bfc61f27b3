package import TokenKeepCore

/// The server's answer to an authorization request, as the browser brings it (RFC 6749 section 4.1.2, RFC 9207).
package struct AuthorizationAnswer {
    private let fields: [FormCoding.Field]

    /// Reads the query of the address to which the browser was sent.
    ///
    /// - Throws: ``Status/invalid`` for a malformed query.
    package init(query: UnsafeRawBufferPointer) throws(TokenKeepError) { fields = try FormCoding.decoded(query) }

    private subscript(name: String) -> SecretBytes? { fields.first { PlainText.areSame($0.name, name) }?.value }

    /// Whether the answer belongs to the request with a state. Any other may be a trap of another page.
    func belongs(to state: SecretBytes) -> Bool { self["state"] == state }

    /// Whether the answer has a state. Some servers leave it out of a refusal.
    var hasState: Bool { self["state"] != nil }

    /// Whether the answer has a code or a refusal.
    var isWhole: Bool { self["code"] != nil || self["error"] != nil }

    /// The refusal of the server, for a message; nil if the answer has none.
    var refusal: String? { self["error"].map { PlainText.printable($0.utf8String ?? "") } }

    /// The code that the server gave.
    ///
    /// - Throws: ``Status/denied`` for another issuer than the server's (RFC 9207), and for the server's refusal;
    ///   ``Status/cancelled`` if the user refused.
    package func code(from server: SignInServer) throws(TokenKeepError) -> SecretBytes {
        let issuer = self["iss"]?.utf8String
        if let known = server.issuer, issuer != nil || server.promisesIssuer, !PlainText.areSame(issuer, known) {
            throw TokenKeepError(
                .denied,
                "the answer of the sign-in names \(issuer.map(PlainText.printable) ?? "no issuer"), expected \(known)",
                hint: "another server may have answered; do not go on")
        }
        if let error = self["error"] {
            throw ServerRefusal.error(error.utf8String ?? "", self["error_description"]?.utf8String, of: "the sign-in")
        }
        guard let code = self["code"], code.count > 0 else {
            throw TokenKeepError(.denied, "the answer of the sign-in has no code")
        }
        return code
    }
}
