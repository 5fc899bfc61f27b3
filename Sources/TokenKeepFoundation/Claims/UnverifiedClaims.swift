public import Foundation
import TokenKeepCore
import TokenKeepSession

/// The claims of a JSON Web Token (RFC 7519), read without checking its signature: anybody can have written them.
public struct UnverifiedClaims: Sendable, Equatable {
    /// The claim `sub`; nil if there is none.
    public let subject: String?
    /// The claim `exp`; nil if there is none.
    public let expiresAt: Date?
    /// The claim `iat`; nil if there is none.
    public let issuedAt: Date?

    private struct Subject: Decodable { let sub: String }
    private struct Expiry: Decodable { let exp: Double }
    private struct Issue: Decodable { let iat: Double }

    /// Reads the claims of a token; nil if the token is opaque or damaged.
    public init?(jwt: String) {
        guard let token = try? SecretBytes(jwt),
            let claims = TokenKeepSession.UnverifiedClaims(unverified: token), let json = try? claims.serialized()
        else { return nil }
        let data = json.withUnsafeBytes { Data($0) }
        let decoder = JSONDecoder()
        subject = (try? decoder.decode(Subject.self, from: data))?.sub
        expiresAt = (try? decoder.decode(Expiry.self, from: data)).map { Date(timeIntervalSince1970: $0.exp) }
        issuedAt = (try? decoder.decode(Issue.self, from: data)).map { Date(timeIntervalSince1970: $0.iat) }
    }

    /// Whether the token ends within `skew`. A token without `exp` counts as expired.
    ///
    /// - Parameter skew: the difference that clocks may have; at most a third of the token's life, if `iat` tells it.
    public func isExpired(skew: Duration = .seconds(300)) -> Bool { isExpired(skew: skew, at: Date()) }

    func isExpired(skew: Duration, at now: Date) -> Bool {
        guard let expiresAt else { return true }
        var seconds = TimeInterval(skew.components.seconds)
        if let issuedAt, expiresAt > issuedAt { seconds = min(seconds, expiresAt.timeIntervalSince(issuedAt) / 3) }
        return now > expiresAt.addingTimeInterval(-seconds)
    }
}
