import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Checks whether the vault supports a level, before any module is asked.
enum LevelPolicy {
    /// Throws if the vault cannot store items of a level. Reads the vault only for levels that need a device.
    ///
    /// - Throws: ``Status/unsupported`` for a level that needs a device, if the vault is bound to none;
    ///   ``Status/policy`` for a level that needs a password, if the vault has none.
    static func check(_ level: AccessLevel?, _ records: Records) throws(TokenKeepError) {
        guard let level, level.needsDevice else { return }
        let header = try records.open()?.keys.header
        guard header?.device != nil else {
            throw TokenKeepError(
                .unsupported, "the level \(level.word) needs a device, and the vault is bound to none",
                hint: "tokenkeep device choose")
        }
        guard level != .whenPasscodeSetThisDeviceOnly || header?.hasPassword == true else {
            throw TokenKeepError(
                .policy, "the level \(level.word) needs a password, and the vault has none",
                hint: "tokenkeep password set")
        }
    }
}
