import Foundation
import Testing
import TokenKeep
import TokenKeepFoundation

/// docs/applications.md, "Observing".
@Suite(.timeLimit(.minutes(20))) struct ObservingExample {
    private let world = FoundationWorld()

    struct Organization: Codable, Sendable, Equatable { let name: String }

    @Test func theSessionOfAnOrganization() async throws {
        let observed = ObservedSession(try await world.session())
        try await observed.hydrate(accessToken: "my-session-jwt", refreshToken: "refresh-1")
        try await observed.validate()
        try await observed.update(Organization(name: "Example"), of: .organization)
        let seen = Task {
            var seen: [String] = []
            for try await change in observed.changes(of: .organization, as: Organization.self) {
                switch change {
                case .available(let organization, let validatedAt):
                    #expect(validatedAt != nil)
                    seen.append(organization.name)
                    try await observed.revoke()
                case .unavailable(let reason):
                    seen.append("\(reason)")
                    return seen
                }
            }
            return seen
        }
        #expect(try await seen.value.count == 2)
        #expect(try await observed.value(of: .organization, as: Organization.self) == .unavailable(.ended(.logout)))
    }
}
