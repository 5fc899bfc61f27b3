import TokenKeepCore

/// The setting that makes pip or uv run the program `keyring`, which finds TokenKeep's backend by itself.
struct KeyringSettingsFile: ToolSettings {
    let name: String
    /// The path of the file, relative to the user's configuration directory (`XDG_CONFIG_HOME`).
    private let place: String
    /// The name of the setting's section; nil for a file without sections.
    private let section: String?
    private let setting: String

    static let python = KeyringSettingsFile(
        name: "python", place: "pip/pip.conf", section: "global", setting: "keyring-provider = subprocess")
    static let uv = KeyringSettingsFile(
        name: "uv", place: "uv/uv.toml", section: nil, setting: "keyring-provider = \"subprocess\"")

    private static let key = "keyring-provider"

    var isUsed: Bool {
        ToolPlaces.isOnPath(name == "python" ? "pip" : name) && ToolPlaces.isOnPath("keyring")
            && KeyringSettingsFile.hasBackend()
    }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(path())
        guard try SettingsBlock.removed(from: file, where: isOurs) == nil else { return nil }
        guard ToolPlaces.isOnPath("keyring") else {
            throw TokenKeepError(
                .unsupported, "the program keyring is not on the PATH, which pip and uv run",
                hint: "install it with the package tokenkeep: docs/python.md")
        }
        try KeyringSettingsFile.requireBackend()
        let lines = SettingsFile.lines(of: file.text ?? "")
        guard !lines.contains(where: { KeyringSettingsFile.word($0) == KeyringSettingsFile.key }) else {
            throw TokenKeepError(
                .conflict, "\(file.path) has a \(KeyringSettingsFile.key) already",
                hint: "set it to subprocess yourself")
        }
        if let section, let header = lines.firstIndex(where: { KeyringSettingsFile.header($0) == section }) {
            let text = SettingsBlock(lines: [setting]).inserted(into: file.text ?? "", after: header + 1)
            return SettingsChange(file: file, text: text, lines: [setting])
        }
        let block = SettingsBlock(lines: (section.map { ["[\($0)]"] } ?? []) + [setting])
        // In a file without sections, the setting must precede the first table.
        let isFirst = section == nil && file.text != nil
        let text = isFirst ? block.inserted(into: file.text ?? "", after: 0) : block.appended(to: file.text)
        return SettingsChange(file: file, text: text, lines: block.lines)
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(path())
        let removed = try SettingsBlock.removed(from: file, where: isOurs)
        return removed.map { SettingsChange(file: file, text: $0.text, lines: $0.lines) }
    }

    private func isOurs(_ lines: [String]) -> Bool {
        lines == [setting] || lines == (section.map { ["[\($0)]"] } ?? []) + [setting]
    }

    private func path() throws(TokenKeepError) -> String {
        if let folder = ToolPlaces.variable("XDG_CONFIG_HOME") { return "\(folder)/\(place)" }
        return try ToolPlaces.home() + "/.config/\(place)"
    }

    /// Throws ``Status/unsupported`` if the program keyring lacks TokenKeep's backend, because pip would use another
    /// backend.
    private static func requireBackend() throws(TokenKeepError) {
        guard !hasBackend() else { return }
        throw TokenKeepError(
            .unsupported, "the program keyring does not have TokenKeep's backend",
            hint: "install it with the package tokenkeep: docs/python.md")
    }

    private static func hasBackend() -> Bool {
        let answer = AskedProgram.run("keyring", ["--list-backends"], until: AskedProgram.deadline)
        guard case .ended(exitCode: 0, let output) = answer else { return false }
        return output.split(separator: "\n" as Character).contains { $0.hasPrefix("tokenkeep.") }
    }

    /// Returns the section's name if the line is the header of a section; nil for any other line.
    ///
    /// Like Python's configparser, uses the text up to the last bracket, spaces included.
    private static func header(_ line: Substring) -> String? {
        let text = line.drop(while: \.isWhitespace)
        guard text.first == "[", let end = text.lastIndex(of: "]") else { return nil }
        return String(text[..<end].dropFirst())
    }

    /// Returns the name of the setting in a line, normalised as pip does: in lower case, with `-` for `_`, and without
    /// a leading `--`.
    private static func word(_ line: Substring) -> String {
        let name = line.prefix { $0 != "=" && $0 != ":" }.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" }
        let plain = String(name.map { $0 == "_" ? "-" : $0 }).lowercased()
        return plain.hasPrefix("--") ? String(plain.dropFirst(2)) : plain
    }
}
