import TokenKeepCore

/// The setting of cargo's credential providers. TokenKeep's provider is last in the list, after the file of plain
/// tokens (`cargo:token`), because cargo queries the last provider first.
struct CargoSettingsFile: ToolSettings {
    let name = "cargo"
    private static let key = "global-credential-providers"

    var isUsed: Bool { ToolPlaces.isOnPath("cargo") }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        let folder = try CargoSettingsFile.folder()
        let file = try SettingsFile.forChange(CargoSettingsFile.path(folder))
        let provider = "cargo-credential-tokenkeep"
        let names = { (line: String) in line.split(separator: "\"" as Character).contains { $0.hasSuffix(provider) } }
        guard try SettingsBlock.removed(from: file, where: { isOurs($0) && $0.contains(where: names) }) == nil else {
            return nil
        }
        let setting =
            "\(CargoSettingsFile.key) = [\"cargo:token\", \"\(try ToolPlaces.name(of: provider, short: provider))\"]"
        var change: SettingsChange
        if let header = try CargoSettingsFile.header(of: file) {
            let text = SettingsBlock(lines: [setting]).inserted(into: file.text ?? "", after: header + 1)
            change = SettingsChange(file: file, text: text, lines: [setting])
        } else {
            let lines = ["[registry]", setting]
            change = SettingsChange(file: file, text: SettingsBlock(lines: lines).appended(to: file.text), lines: lines)
        }
        for path in ["\(folder)/credentials.toml", "\(folder)/credentials"] {
            let registries = SmallFile.text(path).map(CargoPlainTokens.registries) ?? []
            change.notes += registries.map { registry in
                if let registry, !CargoPlainTokens.isUsable(registry) {
                    return "\(path) keeps the plain token of \(registry), a name that cargo refuses: "
                        + CargoPlainTokens.commands(for: registry, in: path)
                }
                return
                    "\(path) keeps the plain token of \(registry ?? "crates.io"), which cargo logout alone does not remove. "
                    + "In this order: \(CargoPlainTokens.commands(for: registry, in: path))"
            }
        }
        return change
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(CargoSettingsFile.path(CargoSettingsFile.folder()))
        let removed = try SettingsBlock.removed(from: file, where: isOurs)
        return removed.map { text, lines in
            // Do not show the value, because the user may have added a provider whose arguments contain a password.
            let shown = lines.map { $0.hasPrefix(CargoSettingsFile.key) ? "\(CargoSettingsFile.key) = […]" : $0 }
            return SettingsChange(file: file, text: text, lines: shown)
        }
    }

    private func isOurs(_ lines: [String]) -> Bool {
        let settings = lines.first == "[registry]" ? lines.dropFirst() : lines[...]
        return settings.count == 1 && settings.last?.hasPrefix("\(CargoSettingsFile.key) = ") == true
    }

    static func folder() throws(TokenKeepError) -> String {
        if let folder = ToolPlaces.variable("CARGO_HOME") { return folder }
        return try ToolPlaces.home() + "/.cargo"
    }

    /// The path of the configuration: `config.toml`, or the old name `config` if only that file exists.
    static func path(_ folder: String) -> String {
        let old = "\(folder)/config"
        let new = "\(folder)/config.toml"
        return ToolPlaces.exists(old) && !ToolPlaces.exists(new) ? old : new
    }

    /// The index of the line `[registry]`; nil if there is no such line.
    ///
    /// - Throws: ``Status/conflict`` if the file has settings that conflict with the new settings.
    private static func header(of file: SettingsFile) throws(TokenKeepError) -> Int? {
        var header: Int?
        // Within another table, for example [source.NAME], `registry` is a different setting.
        var isInTable = false
        let lines = SettingsFile.lines(of: file.text ?? "")
        for (index, line) in lines.enumerated() {
            let words = line.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" }
            if words == "[registry]" || words.hasPrefix("[registry]#") { header = index }
            if words.hasPrefix("["), words.hasSuffix("]") || words.contains("#" as Character) { isInTable = true }
            let isRegistry = !isInTable && (words.hasPrefix("registry.") || words.hasPrefix("registry="))
            guard !words.hasPrefix("\(key)="), !isRegistry else {
                throw TokenKeepError(
                    .conflict, "\(file.path) sets the providers already, or the registry in another form",
                    hint:
                        "add \"cargo-credential-tokenkeep\" at the end of \(key) yourself; tokens of cargo:libsecret come over with "
                        + "tokenkeep import --from secret-service")
            }
        }
        return header
    }
}
