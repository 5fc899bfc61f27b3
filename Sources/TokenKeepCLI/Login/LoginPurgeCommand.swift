import ArgumentParser
import TokenKeepCore
import TokenKeepKeys

/// `tokenkeep login purge`: run as the user by `tokenkeep-purge` after the end of the user's last session.
///
/// Touches no file, because the home may be gone by then.
struct LoginPurgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Lock every vault of the user.", shouldDisplay: false)

    func run() throws {
        try ClassKeyStore().removal.purgeAllVaults()
    }
}
