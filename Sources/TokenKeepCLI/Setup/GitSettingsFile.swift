import TokenKeepCore
import TokenKeepTerminal

/// The setting of git's credential helper in the user's configuration. Earlier helpers stay in the file, but an empty
/// line `helper =` makes git ignore them.
struct GitSettingsFile: ToolSettings {
    let name = "git"

    var isUsed: Bool { ToolPlaces.isOnPath("git") }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(GitSettingsFile.path())
        try GitSettingsFile.requireReadable(file)
        // Do nothing if TokenKeep's helper is the only one in use. Otherwise write the block anew, because `git config`
        // may have added helpers within the block or after it, which would get every password, too.
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
        let file = try SettingsFile.forChange(GitSettingsFile.path())
        let removed = try SettingsBlock.removed(from: file, where: GitSettingsFile.isOurs)
        return removed.map { SettingsChange(file: file, text: $0.text, lines: $0.lines) }
    }

    private static func isOurs(_ lines: [String]) -> Bool {
        let start = "\thelper = "
        return lines.count == 3 && lines.starts(with: ["[credential]", "\thelper ="]) && lines[2].hasPrefix(start)
            && isOurs(helper: lines[2].dropFirst(start.count))
    }

    private static func isOurs(helper: Substring) -> Bool {
        let program = helper.prefix { !$0.isWhitespace }.split(separator: "/" as Character).last ?? ""
        return ["tokenkeep", "git-credential-tokenkeep"].contains(program)
    }

    /// Throws ``Status/invalid`` if git cannot read the file, because git could then not read setup's lines either.
    private static func requireReadable(_ file: SettingsFile) throws(TokenKeepError) {
        guard file.text != nil else { return }
        let path = file.path.hasPrefix("/") ? file.path : "./\(file.path)"
        let answer = AskedProgram.run(
            "git", ["config", "--file", path, "--no-includes", "--name-only", "--list"], until: AskedProgram.deadline)
        guard case .ended(let code, _) = answer, code != 0 else { return }
        throw TokenKeepError(
            .invalid, "git itself cannot read \(file.path)",
            hint: "git config --file \(ShellWord.quoted(path)) --list")
    }

    /// Whether TokenKeep's helper is the only helper in this text that git runs for every address.
    private static func isOursAlone(_ text: String) -> Bool {
        let all = helpers(text).filter(\.address.isEmpty).map(\.helper)
        guard let last = all.last, all.lastIndex(where: \.isEmpty) == all.count - 2 else { return false }
        return isOurs(helper: last)
    }

    /// The file that `git config --global` writes.
    private static func path() throws(TokenKeepError) -> String {
        if let path = ToolPlaces.variable("GIT_CONFIG_GLOBAL") { return path }
        let home = try ToolPlaces.home()
        let other = "\(ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/git/config"
        let usual = "\(home)/.gitconfig"
        return !ToolPlaces.exists(usual) && ToolPlaces.exists(other) ? other : usual
    }

    /// Returns a note about each helper in a configuration: the helper is displaced, or stays in use for its address.
    private static func notes(_ text: String) -> [String] {
        helpers(text).filter { !$0.helper.isEmpty }.map { address, helper in
            let shown = ShownSetting.helper(helper.filter { $0 != "\"" })
            let address = ShownSetting.address(address)
            guard address.isEmpty else { return "\(address) keeps the helper \(shown) of its own" }
            return DisplacedHelper.note(shown, moves: DisplacedHelper.git(shown))
        }
    }

    /// Returns the helpers in a configuration, in their order. The address is empty for a helper that is set for all
    /// addresses.
    private static func helpers(_ text: String) -> [(address: String, helper: Substring)] {
        var found: [(address: String, helper: Substring)] = []
        var place: String?
        // Skip a byte order mark, as git does.
        let unmarked = text.utf8.dropFirst(ByteOrderMark.length(of: text.utf8))
        for line in SettingsFile.lines(of: String(decoding: unmarked, as: UTF8.self)) {
            var line = trimmed(line)
            if line.hasPrefix("[") {
                // A setting may follow in the same line.
                let end = headerEnd(of: line)
                place = address(ofHeader: line[..<end])
                line = trimmed(line[end...])
            }
            if let place, let equals = line.firstIndex(of: "="),
                trimmed(line[..<equals]).lowercased() == "helper"
            {
                found.append((place, trimmed(line[line.index(after: equals)...])))
            }
        }
        return found
    }

    /// Returns the address in the header of a section `credential`, which is empty if the section applies to all
    /// addresses; nil for the header of another section.
    private static func address(ofHeader header: Substring) -> String? {
        let section = "[credential"
        guard header.lowercased().hasPrefix(section) else { return nil }
        let rest = header.dropFirst(section.count)
        guard let next = rest.first, "]. \t\"".contains(next) else { return nil }
        return rest.drop { $0 == "." }.filter { !"[]\" \t".contains($0) }
    }

    /// Returns the index after a header's closing bracket. Ignores brackets in quotation marks.
    private static func headerEnd(of line: Substring) -> String.Index {
        var (isQuoted, isEscaped) = (false, false)
        for index in line.indices {
            if isEscaped {
                isEscaped = false
            } else if line[index] == "\\" {
                isEscaped = true
            } else if line[index] == "\"" {
                isQuoted.toggle()
            } else if line[index] == "]", !isQuoted {
                return line.index(after: index)
            }
        }
        return line.endIndex
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop { $0.isWhitespace }
        let end = start.lastIndex { !$0.isWhitespace }
        return end.map { start[...$0] } ?? ""
    }
}
