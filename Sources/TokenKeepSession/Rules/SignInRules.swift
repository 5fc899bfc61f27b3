import TokenKeepCore
package import TokenKeepEngine

/// Decides about sign-ins. Reads no clock, no file and no network.
package enum SignInRules {
    /// Whether the status of a failed save shows that certainly nothing was saved.
    static func isRefused(_ status: Status) -> Bool {
        [.unsupported, .policy, .invalid, .denied, .locked].contains(status)
    }

    /// Whether the session that a sign-in is about to replace was begun by another sign-in after `start`.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the session to be replaced.
    ///   - generation: the number of the session's present tokens.
    ///   - obtained: the moment at which the session's tokens were obtained.
    static func isRival(
        _ epoch: String?, _ generation: UInt64, _ obtained: SessionTime, since start: SignInStart
    ) -> Bool {
        if let earlier = start.epoch { return epoch != earlier }
        // Times have whole seconds. A session of the same second may be older than the sign-in, so it does not count
        // and its tokens are not revoked.
        return generation == 1 && obtained.boot == start.moment.boot && obtained.boottime > start.moment.boottime
    }

    /// The level of the refresh token's own item; nil if the record keeps the refresh token.
    ///
    /// - Parameters:
    ///   - asked: the level of the refresh token that the options name; nil to keep its present level.
    ///   - level: the level of the session that the options name; nil to keep its present level.
    /// - Throws: ``Status/invalid`` if `asked` is memory-only, or neither equal to the session's level nor stricter.
    static func refreshLevel(
        _ asked: AccessLevel?, _ level: AccessLevel?, _ note: SessionNote, canRenew: Bool
    ) throws(TokenKeepError) -> AccessLevel? {
        let level = level ?? AccessLevel(rawValue: note.level) ?? .afterFirstUnlock
        guard let asked else {
            let known = AccessLevel(rawValue: note.refreshLevel)
            return known.flatMap { $0.isStricter(than: level) && canRenew ? $0 : nil }
        }
        guard asked != .memoryOnly else {
            throw TokenKeepError(.invalid, "the refresh token of a session cannot be memory-only")
        }
        guard asked != level else { return nil }
        guard asked.isStricter(than: level) else {
            throw TokenKeepError(
                .invalid, "the level \(asked.word) of the refresh token is not stricter than \(level.word)",
                hint: "when-unlocked is stricter than after-first-unlock; this-device-only is stricter than not")
        }
        return canRenew ? asked : nil
    }
}

/// The state of an account's session when a sign-in began.
package struct SignInStart: Sendable, Equatable {
    /// The moment at which the sign-in began.
    let moment: SessionTime
    /// The epoch of the account's session, "" if there was none; nil if the account is not yet known or its note is
    /// unreadable.
    let epoch: String?

    init(_ moment: SessionTime, epoch: String? = nil) { (self.moment, self.epoch) = (moment, epoch) }

    /// Reads the clock and the account's note. Never prompts.
    ///
    /// - Parameter account: nil if the server's answer to the sign-in will name the account.
    package init(_ store: Store, service: String, account: String?, _ options: SessionOptions) {
        self.init(
            options.clock(),
            epoch: account.flatMap {
                try? SessionEngine(store, service: service, account: $0, options).storage.note()?.epoch ?? ""
            })
    }
}
