package import TokenKeepCore
import TokenKeepEngine

/// Revokes or drops a provider's waiting tokens when somebody signs in there. Some servers (Keycloak, Google, Auth0)
/// revoke all tokens of user and client together, so that a later revocation would end the new session.
extension Outbox {
    /// The additional time, in seconds, for which tokens are held back after the sign-in's deadline.
    private static let reserve: Int64 = 60

    /// Sends a provider's waiting tokens before a sign-in there. Tokens that cannot be sent now are held back in every
    /// process until the sign-in's deadline.
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

    /// Drops a provider's tokens that still wait to be revoked, after a sign-in there.
    package func drop(of provider: String) {
        guard mark.isSet else { return }
        forEach(of: provider) { entry throws(TokenKeepError) in
            options.explain?("dropped a token that waited to be revoked at \(provider), where somebody has signed in")
            try clear(entry)
        }
    }

    /// Runs `body` for each readable token of a provider. A token for which it throws stays as it is.
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
