import Foundation
import TokenKeep
import TokenKeepFoundation

extension ApplicationExample {
    struct StravaToken: Codable, Sendable, RefreshableToken {
        let accessToken: String
        let refreshToken: String
        let expiresAt: TimeInterval
    }

    /// One token of the application's own type.
    static func keepToken() async throws {
        let manager = TokenManager<StravaToken>(service: "com.example.app.tokens", account: "strava")
        if try await manager.loadToken() == nil { print("no token") }
        do {
            let end = Date().addingTimeInterval(3600).timeIntervalSince1970
            try await manager.saveToken(StravaToken(accessToken: "abc123", refreshToken: "xyz789", expiresAt: end))
        } catch let error as TokenKeepError where error.osStatus == errSecInteractionNotAllowed {
            return print("the keyring is locked")
        }
        if try await manager.hasRefreshToken() { print("the token can be renewed") }
        try await manager.clearToken()
    }
}
