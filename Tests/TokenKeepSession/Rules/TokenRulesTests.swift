import Testing

@testable import TokenKeepSession

/// Compares the rules with the tables "Which token a call returns" of docs/sessions.md.
struct TokenRulesTests {
    private typealias Facts = TokenRules.Facts

    private static var users: [Facts] {
        TokenRules.Access.allCases.flatMap { access in
            bools.flatMap { isForTarget in
                bools.flatMap { canRenew in
                    bools.map {
                        Facts(
                            kind: .user, access: access, isForTarget: isForTarget, canRenew: canRenew, isSignInOver: $0)
                    }
                }
            }
        }
    }
    /// All facts that can be: the token of the sign-in is never missing.
    private static let all =
        (users
        + users.map { facts in
            var facts = facts
            facts.kind = .guest
            return facts
        }).filter { $0.isForTarget || $0.access != .missing && ($0.access == .over) == $0.isSignInOver }

    @Test func aTokenIsAskedFor() {
        RuleTable<Facts, TokenRules.Decision>([
            ("good", .use, { $0.access == .good }),
            (
                "a guest's, valid", .use,
                { $0.kind == .guest && !$0.isForTarget && $0.access.isValid && $0.access != .good }
            ),
            ("a guest's, over", .clearGuest, { $0.kind == .guest && !$0.isForTarget && $0.access == .over }),
            ("a guest's, for a resource", .isGuest, { $0.kind == .guest && $0.isForTarget && $0.access != .good }),
            (
                "no refresh token, valid", .use,
                { $0.kind == .user && !$0.canRenew && $0.access.isValid && $0.access != .good }
            ),
            (
                "no refresh token, over", .ended,
                { $0.kind == .user && !$0.canRenew && !$0.access.isValid && $0.isSignInOver }
            ),
            (
                "no refresh token, none for the resource", .hasNoRefreshToken,
                { $0.kind == .user && !$0.canRenew && !$0.access.isValid && !$0.isSignInOver }
            ),
            ("ends soon, younger than 30 seconds", .use, { $0.kind == .user && $0.canRenew && $0.access == .young }),
            (
                "ends soon, over, missing", .renew,
                { $0.kind == .user && $0.canRenew && [.endsSoon, .over, .missing].contains($0.access) }
            ),
        ]).check(Self.all, TokenRules.asked)
    }

    @Test func aRefreshIsAskedFor() {
        RuleTable<Facts, TokenRules.Decision>([
            ("a guest's, over", .clearGuest, { $0.kind == .guest && $0.isSignInOver }),
            ("a guest's", .isGuest, { $0.kind == .guest && !$0.isSignInOver }),
            ("no refresh token, over", .ended, { $0.kind == .user && !$0.canRenew && $0.isSignInOver }),
            ("no refresh token, valid", .hasNoRefreshToken, { $0.kind == .user && !$0.canRenew && !$0.isSignInOver }),
            ("a user's", .renew, { $0.kind == .user && $0.canRenew }),
        ]).check(Self.all.filter { !$0.isForTarget }, TokenRules.refreshAsked)
    }

    @Test func aServerRefusesTheToken() {
        RuleTable<Facts, TokenRules.Decision>([
            ("a guest's", .clearGuest, { $0.kind == .guest }),
            ("a user's", .renew, { $0.kind == .user && $0.canRenew }),
            ("no refresh token", .ended, { $0.kind == .user && !$0.canRenew && !$0.isForTarget }),
            (
                "no refresh token, for a resource", .hasNoRefreshToken,
                { $0.kind == .user && !$0.canRenew && $0.isForTarget }
            ),
        ]).check(Self.all, TokenRules.refused)
    }

    private struct Locked {
        var access: TokenRules.Access
        var isStale: Bool
        var coolDown: Int64?
        var left: UInt32
    }

    @Test func aProcessGetsTheRefreshLock() {
        let all = TokenRules.Access.allCases.flatMap { access in
            bools.flatMap { isStale in
                [nil, 5, 6].flatMap { coolDown in
                    [5000, 5001].map { Locked(access: access, isStale: isStale, coolDown: coolDown, left: $0) }
                }
            }
        }
        func isAdopted(_ locked: Locked) -> Bool { locked.access.isValid && !locked.isStale }
        RuleTable<Locked, TokenRules.LockedDecision>([
            ("another valid token", .adopt, isAdopted),
            ("no cool-down", .renew, { !isAdopted($0) && $0.coolDown == nil }),
            (
                "5 s, and the call has more time", .wait(seconds: 5),
                { !isAdopted($0) && $0.coolDown == 5 && $0.left > 5000 }
            ),
            (
                "5 s, and the call has no more", .fail(seconds: 5),
                { !isAdopted($0) && $0.coolDown == 5 && $0.left == 5000 }
            ),
            ("more than 5 s", .fail(seconds: 6), { !isAdopted($0) && $0.coolDown == 6 }),
        ]).check(all) {
            TokenRules.locked($0.access, isStale: $0.isStale, coolDown: $0.coolDown, left: $0.left)
        }
    }

    @Test func aRenewalFailed() {
        let all = TokenRules.Reread.allCases.flatMap { reread in
            TokenRules.Access.allCases.map { (reread: reread, access: $0) }
        }
        RuleTable<(reread: TokenRules.Reread, access: TokenRules.Access), TokenRules.FailedDecision>([
            ("over, or another session", .end, { $0.reread == .ended }),
            ("a valid token", .use, { $0.reread != .ended && $0.access.isValid }),
            ("no valid token", .failure, { $0.reread != .ended && !$0.access.isValid }),
        ]).check(all) { TokenRules.failed($0.reread, $0.access) }
    }

    @Test(
        arguments: [
            (nil, 0, 0, .missing), (3600, 3600, 0, .over), (3600, 3299, 0, .good), (3600, 3300, 0, .good),
            (3600, 3301, 0, .endsSoon), (3600, 3000, 601, .endsSoon), (3600, 29, 3600, .young),
            (60, 5, 60, .young), (60, 6, 60, .endsSoon), (60, 41, 0, .endsSoon), (60, 40, 0, .good),
        ] as [(Int64?, Int64, Int64, TokenRules.Access)])
    func anAccessTokenHasAnAge(lifetime: Int64?, age: Int64, minTTL: Int64, access: TokenRules.Access) {
        let start = SessionTime(wall: 1000, boottime: 1000, boot: "one")
        let now = SessionTime(wall: 1000 + age, boottime: 1000 + age, boot: "one")
        let life = lifetime.map { TokenLife(obtained: start, lifetime: $0) }
        #expect(TokenRules.Access(life, at: now, minTTL: minTTL) == access)
    }
}
