package import TokenKeepCore
import TokenKeepEngine

/// A sign-in ends the waiting of its provider's tokens: some servers (Keycloak, Google, Auth0) revoke every token of the
/// user and the client with one, so that a later revocation would end the new session.
extension Outbox {
    /// A sign-in that takes longer than its deadline holds nothing back, in seconds.
    private static let reserve: Int64 = 60

    /// Sends the tokens of a provider that wait to be revoked, before somebody signs in there. Tokens that cannot be sent
    /// now are held back in every process until the end of the sign-in.
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

    /// Drops the tokens of a provider that still wait, after somebody has signed in there.
    package func drop(of provider: String) {
        guard mark.isSet else { return }
        forEach(of: provider) { entry throws(TokenKeepError) in
            options.explain?("dropped a token that waited to be revoked at \(provider), where somebody has signed in")
            try clear(entry)
        }
    }

    /// Runs `body` for each token of a provider that can be read. A failure leaves the token as it is.
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
