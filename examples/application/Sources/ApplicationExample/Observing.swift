import Foundation
import TokenKeep
import TokenKeepFoundation

extension ApplicationExample {
    struct Organization: Codable, Sendable, Equatable { let name: String }

    /// A session that the application's server began, with an object beside its tokens.
    static func observe() async throws {
        let session = try await TokenSession(store: TokenStore(), service: "b2b.example.com", account: "ann")
        let observed = ObservedSession(session)
        try await observed.hydrate(accessToken: "my-session-jwt", refreshToken: "my-session-token")
        try await observed.update(Organization(name: "Example"), of: .organization)
        for try await change in observed.changes(of: .organization, as: Organization.self) {
            switch change {
            case .available(let organization, _):
                print("organization: \(organization.name)")
                try await observed.revoke()
            case .unavailable(let reason): return print("unavailable: \(reason)")
            }
        }
    }
}
