import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

@testable import TokenKeepSession

/// Access tokens for several resources and scopes under one refresh token.
struct TargetTests {
    private let world = SessionWorld()
    private let files: TokenTarget
    private let mail: TokenTarget

    init() throws {
        files = try TokenTarget(resource: "https://files.example.com", scope: nil)
        mail = try TokenTarget(resource: nil, scope: "mail")
    }

    @Test func eachTargetHasATokenOfItsOwn() throws {
        let session = try world.signedIn()
        let first = try session.token(for: files)
        #expect(first.text == "access-2https://files.example.com")
        #expect(first.target == files)
        let second = try session.token(for: mail)
        #expect(second.text == "access-3")
        #expect(second.scope == "mail")
        // That of the sign-in stays, with its scope.
        #expect(try session.token().text == "access-1")
        #expect(try session.token().scope == "read")
        #expect(try session.token(for: files).text == first.text)
        #expect(try world.session().token(for: mail).text == "access-3")
        #expect(world.server.requests == ["refresh-1", "refresh-2"])
        #expect(world.server.targets == [files, mail])
    }

    @Test func aTargetIsRenewedBeforeItsEnd() throws {
        let session = try world.signedIn()
        _ = try session.token(for: files)
        world.move(seconds: 3301)
        #expect(try session.token(for: files).text.hasPrefix("access-3"))
        #expect(try session.token().text == "access-4")
        #expect(try session.token(for: files).text.hasPrefix("access-3"))
        #expect(world.server.requests.count == 3)
    }

    @Test func aRefusedTokenOfATargetIsReplaced() throws {
        let session = try world.signedIn()
        let refused = try session.token(for: files)
        let other = try world.session()
        #expect(try other.rejected(refused.value, for: files).text.hasPrefix("access-3"))
        #expect(try session.rejected(refused.value, for: files).text.hasPrefix("access-3"))
        #expect(world.server.requests.count == 2)
        #expect(try session.token().text == "access-1")
    }

    @Test func manyHandlesMakeOneRequestForATarget() throws {
        _ = try world.signedIn()
        let results = MutexGuarded<Set<String>>([])
        let handles = try (0..<8).map { _ in try world.session() }
        let threads = handles.map { handle in
            TestThread {
                let text = (try? handle.token(for: self.files).text) ?? "failed"
                results.withLock { _ = $0.insert(text) }
            }
        }
        threads.forEach { $0.join() }
        #expect(results.withLock { $0 } == ["access-2https://files.example.com"])
        #expect(world.server.requests == ["refresh-1"])
    }

    @Test func aServerThatRefusesTheTargetEndsNothing() throws {
        let session = try world.signedIn()
        world.server.next(.says(400, [:], #"{"error":"invalid_target"}"#))
        #expect(throws: TokenKeepError(.denied, "")) { try session.token(for: files) }
        #expect(try session.info().state == .user)
        // The refresh token was not used: it is sent again at once.
        #expect(try session.token(for: files).text.hasPrefix("access-2"))
    }

    @Test func aLostAnswerForATargetIsThatOfTheSession() throws {
        let session = try world.signedIn()
        world.server.next(.losesAnswer)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token(for: files) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.token(for: files) }
        #expect(world.server.requests.count == 1)
        #expect(try session.token().text == "access-1")
        #expect(!world.server.isRevoked)
    }

    @Test func aRefusedTokenOfATargetSpendsNoRepetition() throws {
        let session = try world.signedIn()
        let refused = try session.token(for: files)
        world.server.next(.losesAnswer)
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.refresh() }
        #expect(throws: TokenKeepError(.unavailable, "")) { try session.rejected(refused.value, for: files) }
        #expect(world.server.requests == ["refresh-1", "refresh-2"])
        #expect(try session.token().text == "access-1")
    }

    @Test func aRecordKeepsTheThirtyTwoNewestTargets() throws {
        let session = try world.signedIn()
        let targets = try (0..<34).map { try TokenTarget(resource: "https://\($0).example.com/", scope: nil) }
        for target in targets {
            _ = try session.token(for: target)
            world.move(seconds: 1)
        }
        let requests = world.server.requests.count
        let reader = try world.session()
        for target in targets.suffix(32) { _ = try reader.token(for: target) }
        #expect(world.server.requests.count == requests)
        _ = try reader.token(for: targets[0])
        #expect(world.server.requests.count == requests + 1)
    }

    @Test(
        arguments: [
            ("", nil), (nil, ""), ("no-uri", nil), ("https://a b", nil), ("https://a#part", nil), (nil, "two  spaces"),
            (nil, "quote\""), (nil, "line\nfeed"), (nil, nil), ("https://\(String(repeating: "a", count: 4096))", nil),
        ] as [(String?, String?)])
    func whatIsNoTargetIsRefused(resource: String?, scope: String?) {
        #expect(throws: TokenKeepError(.invalid, "")) { try TokenTarget(resource: resource, scope: scope) }
    }

    @Test func guestsAndSessionsWithoutARefreshTokenHaveNoTargets() throws {
        let guest = try world.session("guest")
        try guest.begin(.guest, response: SecretBytes(#"{"access_token":"visit"}"#))
        #expect(throws: TokenKeepError(.unsupported, "")) { try guest.token(for: files) }
        let raw = try world.session("raw")
        try raw.begin(rawToken: SecretBytes("raw"))
        #expect(throws: TokenKeepError(.unsupported, "")) { try raw.token(for: files) }
        #expect(world.server.requests.isEmpty)
    }

    @Test func aLogoutEndsThemAll() throws {
        let session = try world.signedIn()
        _ = try session.token(for: files)
        let other = try world.session()
        _ = try other.token(for: files)
        _ = try session.end()
        #expect(throws: TokenKeepError(.notFound, "")) { try other.token(for: files) }
        #expect(world.server.revoked == ["refresh-2"])
    }
}
