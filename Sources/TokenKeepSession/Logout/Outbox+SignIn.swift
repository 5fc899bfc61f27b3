package import TokenKeepCore
import TokenKeepEngine

/// Revokes or drops a provider's queued tokens before and after a sign-in with this provider. Some servers (Keycloak,
/// Google, Auth0) revoke all tokens of a user and client together, so revoking an old token later would end the new
/// session.
extension Outbox {
    /// The time, in seconds after the sign-in's deadline, until which queued tokens are not sent.
    private static let reserve: Int64 = 60

    /// Revokes a provider's queued tokens before a sign-in with this provider. Tokens that cannot be sent now are not
    /// sent by any process until a minute after the sign-in's deadline.
    package func sendBeforeSignIn(at provider: String, within milliseconds: UInt32, until end: Deadline) {
        guard mark.isSet else { return }
        _ = try? withoutPrompts.flush(until: end.within(milliseconds: milliseconds)) {
            $0["provider"]?.text == provider
        }
        let heldUntil = options.clock().wall + Int64(end.remainingMilliseconds / 1000) + Outbox.reserve
        forEach(of: provider) { entry throws(TokenKeepError) in
            guard entry.json["not_before"]?.integer ?? 0 < heldUntil else { return }
            try entry.json.set("not_before", heldUntil)
            try save(entry, level: nil)
        }
    }

    /// Removes a provider's queued tokens without revoking them, after a sign-in with this provider.
    package func drop(of provider: String) {
        guard mark.isSet else { return }
        forEach(of: provider) { entry throws(TokenKeepError) in
            options.explain?("dropped a token that waited to be revoked at \(provider), where somebody has signed in")
            try clear(entry)
        }
    }

    /// Runs `body` for each readable queued token of a provider. If `body` throws, that token stays unchanged.
    private func forEach(of provider: String, _ body: (Entry) throws(TokenKeepError) -> Void) {
        let end = Deadline(milliseconds: options.timeoutMilliseconds)
        let quiet = withoutPrompts
        guard let listing = try? store.withoutPrompts.list(service: Outbox.service, until: end) else { return }
        for item in listing.items where !end.hasPassed {
            do throws(TokenKeepError) {
                guard let entry = try quiet.read(item.name, until: end), entry.json["provider"]?.text == provider
                else { continue }
                try body(entry)
            } catch {
                options.explain?("a token that waits to be revoked is left as it is: \(error.message)")
            }
        }
    }
}
