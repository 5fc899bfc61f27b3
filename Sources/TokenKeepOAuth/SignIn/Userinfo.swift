import TokenKeepCore
import TokenKeepSession

/// Determines the user by the server's userinfo endpoint (OpenID Connect Core section 5.3), for sign-ins without an ID
/// token.
enum Userinfo {
    private static let milliseconds: UInt32 = 10_000

    /// Asks the server for the user of an access token; nil if the server does not answer or names no user.
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
