public import Foundation
import TokenKeepCore
import TokenKeepSession

/// The claims of a JSON Web Token (RFC 7519). Its signature is not checked, so anybody may have written the claims.
///
/// ```swift
/// if case .array(let roles)? = UnverifiedClaims(jwt: token)?.claims["roles"] { … }
/// ```
public struct UnverifiedClaims: Sendable, Equatable {
    /// All members of the token's payload, by name.
    public let claims: [String: Claim]

    /// Reads the claims of a token; nil if the token is opaque or damaged.
    public init?(jwt: String) {
        guard let token = try? SecretBytes(jwt),
            let claims = TokenKeepSession.UnverifiedClaims(unverified: token), let json = try? claims.serialized(),
            let members = try? json.withUnsafeBytes({ try JSONDecoder().decode([String: Claim].self, from: Data($0)) })
        else { return nil }
        self.claims = members
    }

    /// The claim `sub`; nil if the token has no such claim.
    public var subject: String? { claims["sub"]?.text }
    /// The claim `exp`; nil if the token has no such claim.
    public var expiresAt: Date? { claims["exp"]?.number.map(Date.init(timeIntervalSince1970:)) }
    /// The claim `iat`; nil if the token has no such claim.
    public var issuedAt: Date? { claims["iat"]?.number.map(Date.init(timeIntervalSince1970:)) }

    /// Whether the token expires within `skew`. A token without `exp` counts as expired.
    ///
    /// - Parameter skew: the time before the expiry at which the token already counts as expired. If the token has the
    ///   claim `iat`, at most a third of its lifetime.
    public func isExpired(skew: Duration = .seconds(300)) -> Bool { isExpired(skew: skew, at: Date()) }

    func isExpired(skew: Duration, at now: Date) -> Bool {
        guard let expiresAt else { return true }
        var seconds = TimeInterval(skew.components.seconds)
        if let issuedAt, expiresAt > issuedAt { seconds = min(seconds, expiresAt.timeIntervalSince(issuedAt) / 3) }
        return now > expiresAt.addingTimeInterval(-seconds)
    }
}
