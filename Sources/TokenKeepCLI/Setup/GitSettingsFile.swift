import TokenKeepCore

/// The setting of git's credential helper in the user's configuration. Earlier helpers stay in the file, but an empty
/// line `helper =` makes git ignore them.
struct GitSettingsFile: ToolSettings {
    let name = "git"

    var isUsed: Bool { ToolPlaces.isOnPath("git") }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile(GitSettingsFile.path())
        // git config may have added helpers within the block or after it, which would get every password, too.
        var rest = file.text
        if try SettingsBlock.removed(from: file, where: { _ in true }) != nil {
            guard !GitSettingsFile.isOursAlone(file.text ?? "") else { return nil }
            rest = try SettingsBlock.removed(from: file, where: GitSettingsFile.isOurs)?.text
        }
        let helper = try ToolPlaces.name(of: "git-credential-tokenkeep", short: "tokenkeep")
        let lines = ["[credential]", "\thelper =", "\thelper = \(helper)"]
        return SettingsChange(
            file: file, text: SettingsBlock(lines: lines).appended(to: rest), lines: lines,
            notes: GitSettingsFile.notes(rest ?? ""))
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile(GitSettingsFile.path())
        let removed = try SettingsBlock.removed(from: file, where: GitSettingsFile.isOurs)
        return removed.map { SettingsChange(file: file, text: $0.text, lines: $0.lines) }
    }

    private static func isOurs(_ lines: [String]) -> Bool {
        lines.count == 3 && lines.starts(with: ["[credential]", "\thelper ="]) && lines[2].hasPrefix("\thelper = ")
    }

    /// Whether our helper is the only helper in this text that git runs for every address.
    private static func isOursAlone(_ text: String) -> Bool {
        let all = helpers(text).filter(\.address.isEmpty).map(\.helper)
        guard let last = all.last, all.lastIndex(where: \.isEmpty) == all.count - 2 else { return false }
        let name = last.split(separator: "/" as Character).last ?? ""
        return ["tokenkeep", "git-credential-tokenkeep"].contains(name)
    }

    /// The file that `git config --global` writes.
    private static func path() throws(TokenKeepError) -> String {
        if let path = ToolPlaces.variable("GIT_CONFIG_GLOBAL") { return path }
        let home = try ToolPlaces.home()
        let other = "\(ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/git/config"
        let usual = "\(home)/.gitconfig"
        return !ToolPlaces.exists(usual) && ToolPlaces.exists(other) ? other : usual
    }

    /// Notes about the helpers in a configuration: each is displaced, or kept for its address.
    private static func notes(_ text: String) -> [String] {
        helpers(text).filter { !$0.helper.isEmpty }.map { address, helper in
            address.isEmpty ? "displaces the helper \(helper)" : "\(address) keeps the helper \(helper) of its own"
        }
    }

    /// The helpers in a configuration, in their order. The address is empty for a helper of all addresses.
    private static func helpers(_ text: String) -> [(address: String, helper: Substring)] {
        var found: [(address: String, helper: Substring)] = []
        var place: String?
        for line in SettingsFile.lines(of: text) {
            let line = trimmed(line)
            if line.hasPrefix("[") {
                place = line.lowercased().hasPrefix("[credential") ? String(line.dropFirst("[credential".count)) : nil
            } else if let place, let equals = line.firstIndex(of: "="),
                trimmed(line[..<equals]).lowercased() == "helper"
            {
                found.append((place.filter { !"[]\" \t".contains($0) }, trimmed(line[line.index(after: equals)...])))
            }
        }
        return found
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0.isWhitespace }
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { start[...$0] } ?? ""
    }
}
