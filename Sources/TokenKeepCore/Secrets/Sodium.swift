import CSodium

/// Starts libsodium, once per process.
public enum Sodium {
    private static let started = sodium_init() >= 0

    /// Starts libsodium. Any thread may call this function, any number of times.
    ///
    /// - Throws: ``Status/internal`` if libsodium has no source of randomness.
    public static func start() throws(TokenKeepError) {
        guard started else { throw TokenKeepError(.internal, "libsodium cannot start: it has no source of randomness") }
    }
}
