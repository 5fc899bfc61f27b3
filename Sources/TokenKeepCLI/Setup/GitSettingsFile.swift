import TokenKeepCore

/// git's helper in the user's configuration. Earlier helpers stay in the file; an empty line `helper =` makes git pass them
/// over.
struct GitSettingsFile: ToolSettings {
    let name = "git"

    var isUsed: Bool { ToolPlaces.isOnPath("git") }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile(GitSettingsFile.path())
        guard try SettingsBlock.removed(from: file, where: { _ in true }) == nil else { return nil }
        let helper = try ToolPlaces.name(of: "git-credential-tokenkeep", short: "tokenkeep")
        let lines = ["[credential]", "\thelper =", "\thelper = \(helper)"]
        return SettingsChange(
            file: file, text: SettingsBlock(lines: lines).appended(to: file.text), lines: lines,
            notes: GitSettingsFile.notes(file.text ?? ""))
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile(GitSettingsFile.path())
        let removed = try SettingsBlock.removed(from: file) { lines in
            lines.count == 3 && lines.starts(with: ["[credential]", "\thelper ="]) && lines[2].hasPrefix("\thelper = ")
        }
        return removed.map { SettingsChange(file: file, text: $0.text, lines: $0.lines) }
    }

    /// The file that `git config --global` writes.
    private static func path() throws(TokenKeepError) -> String {
        if let path = ToolPlaces.variable("GIT_CONFIG_GLOBAL") { return path }
        let home = try ToolPlaces.home()
        let other = "\(ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/git/config"
        let usual = "\(home)/.gitconfig"
        return !ToolPlaces.exists(usual) && ToolPlaces.exists(other) ? other : usual
    }

    /// A line for each helper in a configuration: displaced, or kept for its address.
    private static func notes(_ text: String) -> [String] {
        var notes: [String] = []
        var place: String?
        for line in SettingsFile.lines(of: text) {
            let line = trimmed(line)
            if line.hasPrefix("[") {
                place = line.lowercased().hasPrefix("[credential") ? String(line.dropFirst("[credential".count)) : nil
            } else if let place, let equals = line.firstIndex(of: "="),
                trimmed(line[..<equals]).lowercased() == "helper"
            {
                let helper = trimmed(line[line.index(after: equals)...])
                guard !helper.isEmpty else { continue }
                let address = place.filter { !"[]\" \t".contains($0) }
                notes.append(
                    address.isEmpty
                        ? "displaces the helper \(helper)" : "\(address) keeps the helper \(helper) of its own")
            }
        }
        return notes
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0.isWhitespace }
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { start[...$0] } ?? ""
    }
}
