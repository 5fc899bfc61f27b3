import TokenKeepCore

/// Which levels and flags can be had, before any module is asked.
enum LevelPolicy {
    /// Refuses what this build cannot keep.
    ///
    /// - Throws: ``Status/unsupported`` for the this-device-only levels and for user presence, whose keys do not exist;
    ///   ``Status/policy`` for a level that must be enforced, since none is.
    static func check(_ request: SaveRequest) throws(TokenKeepError) {
        if let level = request.accessLevel, level.isThisDeviceOnly, level != .memoryOnly {
            throw TokenKeepError(
                .unsupported, "the level \(level.word) needs a key of this device, which this version does not have",
                hint: "use after-first-unlock")
        }
        if request.flags.contains(.userPresence) {
            throw TokenKeepError(.unsupported, "user presence cannot be asked for in this version")
        }
        if request.flags.contains(.requireEnforced) {
            throw TokenKeepError(
                .policy, "no level is enforced by keys in this version",
                hint: "save without the demand that the level be enforced")
        }
    }
}
