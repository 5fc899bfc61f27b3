import Testing

@testable import TokenKeepOAuth

/// Requested scopes beside granted scopes.
@Suite struct SignInScopeTests {
    private static let userinfo = "https://www.googleapis.com/auth/userinfo"

    @Test(
        arguments: [
            ("a b", "b a", false, [], []), ("a b", "a", false, ["b"], []), ("a", "a b", false, [], ["b"]),
            // GitHub separates by commas.
            ("repo gist", "repo,gist", false, [], []), ("repo user", "repo,gist", false, ["user"], ["gist"]),
            ("a,b c", "a,b c", false, [], []),
            ("openid email profile", "openid \(userinfo).email \(userinfo).profile", false, [], []),
            ("openid offline_access", "openid", true, [], []),
            ("openid offline_access", "openid", false, ["offline_access"], []),
        ] as [(String, String, Bool, [String], [String])])
    func aGrantIsComparedByTheMeaningOfItsScopes(
        asked: String, granted: String, hasRefreshToken: Bool, missing: [String], unasked: [String]
    ) {
        let found = SignInScope.difference(asked: asked, granted: granted, hasRefreshToken: hasRefreshToken)
        #expect(found.missing == missing)
        #expect(found.unasked == unasked)
    }
}
