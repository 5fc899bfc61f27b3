import TokenKeepCore

/// Which levels and flags can be had, before any module is asked.
enum LevelPolicy {
    /// Refuses what this build cannot keep.
    ///
    /// - Throws: ``Status/unsupported`` for a level that needs a key of this device, which there is none of yet.
    static func check(_ level: AccessLevel?) throws(TokenKeepError) {
        guard let level, level.isThisDeviceOnly, level != .memoryOnly else { return }
        throw TokenKeepError(
            .unsupported, "the level \(level.word) needs a key of this device, which this version does not have",
            hint: "use after-first-unlock")
    }
}
