import Foundation
import FoundationNetworking
import TokenKeep
import TokenKeepFoundation

extension ApplicationExample {
    /// A guest, whose requests have the header `X-Device-ID` and a limit.
    static func visit(_ api: URL) async throws {
        let manager = manager(api)
        try await manager.continueAsGuest {
            GuestResponse(
                guestToken: "visit", expiresIn: 900,
                limitations: GuestLimitations(maxEditsPerDay: 5, featuresDisabled: ["save"]))
        }
        print("a guest has \(manager.limitations?.maxEditsPerDay ?? 0) edits a day")
        do {
            let _: User? = try await manager.client?.request(URLRequest(url: api.appending(path: "edit")))
        } catch APIError.rateLimited(let limit) {
            print("try again in \(limit.retryAfter.components.seconds / 3600) hours")
        }
        try await manager.logout(isLocalOnly: true)
    }
}
