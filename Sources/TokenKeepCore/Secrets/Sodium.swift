import CSodium

/// Starts libsodium, once per process.
public enum Sodium {
    private static let started = sodium_init() >= 0

    /// Makes libsodium ready. Safe from any thread, as often as one likes.
    ///
    /// - Throws: ``Status/internal`` where it has no source of randomness.
    public static func start() throws(TokenKeepError) {
        guard started else { throw TokenKeepError(.internal, "libsodium cannot start: it has no source of randomness") }
    }
}
