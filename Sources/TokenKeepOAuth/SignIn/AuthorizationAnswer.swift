package import TokenKeepCore

/// The server's answer to an authorization request, which the browser delivers (RFC 6749 section 4.1.2, RFC 9207).
package struct AuthorizationAnswer {
    private let fields: [FormCoding.Field]

    /// Parses the query of the address to which the server redirected the browser.
    ///
    /// - Throws: ``Status/invalid`` if `code`, `state`, `iss` or `error` is malformed or repeated.
    package init(query: UnsafeRawBufferPointer) throws(TokenKeepError) {
        fields = try FormCoding.decoded(query, ["code", "state", "iss", "error"], words: ["error_description"])
    }

    private subscript(name: String) -> SecretBytes? { fields.first { PlainText.areSame($0.name, name) }?.value }

    /// Whether the answer has the request's state. If it has a different state, it may come from an attacker's page.
    func belongs(to state: SecretBytes) -> Bool { self["state"] == state }

    /// Whether the answer has a state. Some servers omit the state in a refusal.
    var hasState: Bool { self["state"] != nil }

    /// Whether the answer is complete: it has a code or an error.
    var isWhole: Bool { self["code"] != nil || self["error"] != nil }

    /// The error of a refusal, in printable form; nil if the answer is no refusal.
    var refusal: String? { self["error"].map { PlainText.printable($0.utf8String ?? "") } }

    /// Returns the authorization code.
    ///
    /// - Throws: ``Status/denied`` if the answer names a wrong issuer, or none although the server promises one (RFC
    ///   9207), if it has no code, or if the server refused; ``Status/cancelled`` if the user refused.
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
