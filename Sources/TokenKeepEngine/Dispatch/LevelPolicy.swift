import TokenKeepCore

/// The levels that this version supports, checked before any module is asked.
enum LevelPolicy {
    /// Throws if this build does not support a level.
    ///
    /// - Throws: ``Status/unsupported`` for a level that needs a key of this device: such keys do not exist yet.
    static func check(_ level: AccessLevel?) throws(TokenKeepError) {
        guard let level, level.isThisDeviceOnly, level != .memoryOnly else { return }
        throw TokenKeepError(
            .unsupported, "the level \(level.word) needs a key of this device, which this version does not have",
            hint: "use after-first-unlock")
    }
}
