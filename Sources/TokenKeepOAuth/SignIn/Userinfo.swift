import TokenKeepCore
import TokenKeepSession

/// Reads the answer of a server's userinfo endpoint (OpenID Connect Core section 5.3), for sign-ins without an ID
/// token.
enum Userinfo {
    private static let milliseconds: UInt32 = 10_000

    /// The user of an access token, as the server names them; nil if the server names none.
    static func person(
        of token: SecretBytes?, at server: SignInServer, until deadline: Deadline
    ) -> SignedInPerson? {
        guard let token, let ask = server.askUserinfo,
            let answer = try? ask(token, deadline.within(milliseconds: milliseconds)), answer.status == 200
        else { return nil }
        // The answer may be a signed JSON Web Token.
        if let claims = UnverifiedClaims(unverified: answer.body) {
            return SignedInPerson(server.accountClaims, claims.unverified)
        }
        guard let json = ServerRefusal.json(answer) else { return nil }
        return SignedInPerson(server.accountClaims) { name in json[name]?.text ?? json[name]?.integer.map(String.init) }
    }
}
