import Foundation
import Testing
import TokenKeep
import TokenKeepFoundation

/// docs/applications.md, "One token": a token of the application's own type.
@Suite struct KeepingATokenExample {
    private let world = FoundationWorld()

    struct StravaToken: Codable, Sendable, RefreshableToken {
        let accessToken: String
        let refreshToken: String
        let expiresAt: TimeInterval
    }

    private func authenticateUser() async throws -> StravaToken {
        StravaToken(
            accessToken: "abc123", refreshToken: "xyz789",
            expiresAt: Date().addingTimeInterval(3600).timeIntervalSince1970)
    }

    @Test func theUsualFlow() async throws {
        let manager = TokenManager<StravaToken>(
            store: try world.store(), service: "com.example.stratiles.tokens", account: "strava")

        if try await manager.hasRefreshToken() {
            if let token = try await manager.loadToken() {
                print("Expires at: \(Date(timeIntervalSince1970: token.expiresAt))")
            }
        } else {
            let token = try await authenticateUser()
            do {
                try await manager.saveToken(token)
            } catch let error as TokenKeepError {
                switch error.osStatus {
                case errSecDuplicateItem: print("Token already exists")
                case errSecAuthFailed: print("Keychain authentication failed")
                default: print("Keychain error: \(error)")
                }
            }
        }
        #expect(try await manager.hasRefreshToken())

        try await manager.clearToken()
        #expect(try await manager.loadToken() == nil)
    }
}
