import TokenKeepCore

/// Decides about sign-ins. Reads no clock, no file and no network.
package enum SignInRules {
    /// Whether the error of a save says that certainly nothing was saved.
    static func isRefused(_ status: Status) -> Bool {
        [.unsupported, .policy, .invalid, .denied, .locked].contains(status)
    }

    /// Whether a session that a sign-in replaces was begun by another sign-in meanwhile.
    ///
    /// - Parameters:
    ///   - generation: the tokens that the session has had.
    ///   - obtained: the moment at which the session got its tokens.
    ///   - start: the moment at which the user began to sign in.
    static func isRival(_ generation: UInt64, _ obtained: SessionTime, _ start: SessionTime) -> Bool {
        generation == 1 && obtained.boot == start.boot && obtained.boottime >= start.boottime
    }
}
