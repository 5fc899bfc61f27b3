import ArgumentParser
import TokenKeepCore
import TokenKeepSession

/// The options of commands that begin a session.
struct SessionProfileOptions: ParsableArguments {
    @Option(help: ArgumentHelp("strict, none or overlap=SECONDS.", valueName: "profile"))
    var rotation: String?

    @Option(help: ArgumentHelp("The level of the session: see tokenkeep protection.", valueName: "level"))
    var level: String?

    @Option(
        name: .customLong("refresh-level"),
        help: ArgumentHelp("A stricter level for the refresh token.", valueName: "level"))
    var refreshLevel: String?

    /// Makes session options with the given levels and rotation profile.
    func options() throws(TokenKeepError) -> SessionOptions {
        var options = SessionOptions(rotation: try profile())
        options.level = try accessLevel()
        options.refreshLevel = try refreshLevel.map { word throws(TokenKeepError) in try AccessLevel(word: word) }
        return options
    }

    private func accessLevel() throws(TokenKeepError) -> AccessLevel? {
        guard let level else { return nil }
        let accessLevel = try AccessLevel(word: level)
        guard accessLevel != .memoryOnly else {
            throw TokenKeepError(.invalid, "a session of level memory-only would end with this command")
        }
        return accessLevel
    }

    private func profile() throws(TokenKeepError) -> RotationProfile? {
        switch rotation {
        case nil: return nil
        case "strict": return .strict
        case "none": return RotationProfile.none
        case .some(let text):
            guard text.hasPrefix("overlap="), let seconds = UInt32(text.dropFirst(8)), seconds <= 86_400 else {
                throw TokenKeepError(
                    .invalid, "the profile of --rotation is unknown", hint: "strict, none or overlap=SECONDS (to 86400)"
                )
            }
            return .overlap(seconds: seconds)
        }
    }
}
