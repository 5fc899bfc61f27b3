import Foundation
import TestSupport
import Testing
import TokenKeep

@testable import TokenKeepFoundation

/// One token of an application, as JSON.
@Suite struct TokenManagerTests {
    private let world = FoundationWorld()

    private struct StravaToken: Codable, Sendable, Equatable, RefreshableToken {
        let accessToken: String
        let refreshToken: String
        let expiresAt: TimeInterval
    }

    private func manager() throws -> TokenManager<StravaToken> {
        TokenManager(store: try world.store(), service: "com.example.app.tokens", account: "strava")
    }

    @Test func aTokenIsSavedLoadedAndCleared() async throws {
        let token = StravaToken(accessToken: "abc123", refreshToken: "xyz789", expiresAt: 1_800_003_600)
        try await manager().saveToken(token)
        #expect(try await manager().loadToken() == token)
        #expect(try await manager().hasRefreshToken())
        try await manager().clearToken()
        try await manager().clearToken()
        #expect(try await manager().loadToken() == nil)
        #expect(try await !manager().hasRefreshToken())
    }

    @Test func anEmptyRefreshTokenIsNone() async throws {
        try await manager().saveToken(StravaToken(accessToken: "a", refreshToken: "", expiresAt: 0))
        #expect(try await !manager().hasRefreshToken())
    }

    @Test func aLockedVaultThrowsAndIsNotNil() async throws {
        let store = try world.store()
        let manager = TokenManager<StravaToken>(store: store, service: "tokens", account: "strava")
        try await manager.saveToken(StravaToken(accessToken: "a", refreshToken: "r", expiresAt: 0))
        try world.setPassword("horse")
        try await store.lock()
        await expect(.locked) { try await manager.loadToken() }
        await expect(.locked) { try await manager.hasRefreshToken() }
        try await store.unlock(password: .init("horse"))
        #expect(try await manager.loadToken()?.accessToken == "a")
    }

    @Test func anotherSecretIsCorruptAndItsBytesAreInNoMessage() async throws {
        try await world.store().save("planted-7f3a", service: "com.example.app.tokens", account: "strava")
        do {
            _ = try await manager().loadToken()
            Issue.record("a secret that is no token was loaded")
        } catch let error as TokenKeepError {
            #expect(error.status == .corrupt)
            #expect(error.osStatus == errSecDecode)
            #expect(!error.description.contains("planted"))
        }
    }

    @Test func theLevelIsAfterFirstUnlockUnlessTold() async throws {
        let store = try world.store()
        let token = OAuthToken(accessToken: "a", refreshToken: "r", expiresAt: 0)
        try await TokenManager(store: store, service: "one", account: "").saveToken(token)
        try await TokenManager(store: store, service: "two", account: "", level: .memoryOnly).saveToken(token)
        #expect(try await store.load(service: "one", account: "").details.accessibility == .afterFirstUnlock)
        #expect(try await store.load(service: "two", account: "").details.accessibility == .memoryOnly)
    }

    @Test func aSessionTakesOverAnOAuthToken() async throws {
        let end = Date().addingTimeInterval(3600.5).timeIntervalSince1970
        let token = OAuthToken(accessToken: "access-0", refreshToken: "refresh-1", expiresAt: end)
        try await TokenManager(store: world.store(), service: world.service, account: "ann").saveToken(token)
        let session = try await world.session()
        let taken = try await session.token()
        #expect(taken.value.utf8String == "access-0")
        #expect(try #require(taken.timeLeft) > .seconds(3000))
        #expect(try await session.refresh().value.utf8String == "access-2")
    }

    @Test func noTextOfATokenHasTheToken() {
        let token = OAuthToken(accessToken: "planted", refreshToken: "planted", expiresAt: 0)
        var dumped = ""
        dump(token, to: &dumped)
        #expect(!"\(token) \(String(reflecting: token)) \(dumped)".contains("planted"))
    }

    @Test(
        "The Keychain's numbers",
        arguments: [
            (TokenKeepError.Status.notFound, -25300), (.duplicate, -25299), (.denied, -25293), (.locked, -25308),
            (.unavailable, -25291), (.cancelled, -128), (.corrupt, -26275), (.invalid, -50), (.unsupported, -4),
        ] as [(TokenKeepError.Status, OSStatus)])
    func theKeychainsNumbers(_ status: TokenKeepError.Status, _ number: OSStatus) {
        #expect(TokenKeepError(status, "").osStatus == number)
    }

    @Test func aStatusThatTheKeychainDoesNotHaveIsNil() {
        #expect(TokenKeepError(.timedOut, "").osStatus == nil)
        #expect(TokenKeepError(.needsLogin, "").osStatus == nil)
    }
}
