import TokenKeepCore
package import TokenKeepEngine

/// Decides about sign-ins. Reads no clock, no file and no network.
package enum SignInRules {
    /// Whether the error of a save says that certainly nothing was saved.
    static func isRefused(_ status: Status) -> Bool {
        [.unsupported, .policy, .invalid, .denied, .locked].contains(status)
    }

    /// Whether a session that a sign-in replaces was begun by another sign-in meanwhile.
    ///
    /// - Parameters:
    ///   - epoch: that of the session.
    ///   - generation: the tokens that the session has had.
    ///   - obtained: the moment at which the session got its tokens.
    static func isRival(
        _ epoch: String?, _ generation: UInt64, _ obtained: SessionTime, since start: SignInStart
    ) -> Bool {
        if let earlier = start.epoch { return epoch != earlier }
        // Whole seconds: a session of the same second may be an earlier one, which must not be revoked.
        return generation == 1 && obtained.boot == start.moment.boot && obtained.boottime > start.moment.boottime
    }

    /// The level of the refresh token's own item; nil if the record has the token.
    ///
    /// - Parameters:
    ///   - asked: the level that the options name; nil for the level that the token has.
    ///   - level: the session's level; nil for the level that the session has.
    /// - Throws: ``Status/invalid`` if the level that the options name is not stricter than that of the session.
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

/// The session of an account at the beginning of a sign-in.
package struct SignInStart: Sendable, Equatable {
    /// The moment.
    let moment: SessionTime
    /// The epoch of the account's session, "" for none; nil if the account is not known yet, or its note cannot be read.
    let epoch: String?

    init(_ moment: SessionTime, epoch: String? = nil) { (self.moment, self.epoch) = (moment, epoch) }

    /// Reads the clock, and the note of the account. Never prompts.
    ///
    /// - Parameter account: nil if the sign-in will name it.
    package init(_ store: Store, service: String, account: String?, _ options: SessionOptions) {
        self.init(
            options.clock(),
            epoch: account.flatMap {
                try? SessionEngine(store, service: service, account: $0, options).storage.note()?.epoch ?? ""
            })
    }
}
