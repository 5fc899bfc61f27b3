import TokenKeepCore
import TokenKeepKeys
import TokenKeepSession
import TokenKeepTerminal

/// The setting of docker's credential helper. docker's configuration is JSON, which has no comments to mark setup's
/// change, so setup writes a separate note that an undo reads.
struct DockerSettingsFile: ToolSettings {
    let name = "docker"
    private static let member = "credsStore"
    private static let ours = "tokenkeep"

    var isUsed: Bool { ToolPlaces.isOnPath("docker") || (try? ToolPlaces.exists(DockerSettingsFile.path())) == true }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        guard ToolPlaces.isOnPath("docker-credential-tokenkeep") else {
            throw TokenKeepError(
                .unsupported, "docker-credential-tokenkeep is not on the PATH, where docker looks for it")
        }
        let file = try SettingsFile.forChange(DockerSettingsFile.path())
        let text = file.text ?? "{\n}\n"
        let settings = try DockerSettingsFile.settings(text, file.path)
        let present = try settings.string(DockerSettingsFile.member)
        try DockerSettingsFile.refuseOtherSpellings(of: settings, text, file.path)
        guard present != DockerSettingsFile.ours else { return nil }
        let note = try DockerSettingsFile.note()
        let kept = file.text == nil ? "new" : present.map { "helper \($0)" } ?? "none"
        var change = SettingsChange(
            file: file, text: JSONMemberText(text, DockerSettingsFile.member).setting(DockerSettingsFile.ours),
            lines: ["\"\(DockerSettingsFile.member)\": \"\(DockerSettingsFile.ours)\""],
            notes: DockerSettingsFile.notes(settings, displaced: present))
        change.before = { () throws(TokenKeepError) in try note.replace(with: "\(kept)\n") }
        change.failed = { () throws(TokenKeepError) in try SettingsFile(note.path).replace(with: note.text) }
        return change
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(DockerSettingsFile.path())
        let note = try DockerSettingsFile.note()
        guard let text = file.text, let kept = note.text else { return nil }
        let settings = try DockerSettingsFile.settings(text, file.path)
        guard try settings.string(DockerSettingsFile.member) == DockerSettingsFile.ours else { return nil }
        let place = JSONMemberText(text, DockerSettingsFile.member)
        let words = kept.split(whereSeparator: \.isWhitespace)
        var restored: String?
        if words.first == "helper", words.count <= 2 {
            restored = place.setting(words.count == 2 ? String(words[1]) : "")
        } else {
            restored = place.removing()
            if words.first == "new", restored == "{\n}\n" { restored = nil }
        }
        var change = SettingsChange(
            file: file, text: restored, lines: ["\"\(DockerSettingsFile.member)\": \"\(DockerSettingsFile.ours)\""])
        change.after = { () throws(TokenKeepError) in try note.replace(with: nil) }
        return change
    }

    static func path() throws(TokenKeepError) -> String {
        if let folder = ToolPlaces.variable("DOCKER_CONFIG") { return "\(folder)/config.json" }
        return try ToolPlaces.home() + "/.docker/config.json"
    }

    /// Reads setup's note of the setting that it replaced. The note's name contains a hash of the directory in
    /// `DOCKER_CONFIG`.
    private static func note() throws(TokenKeepError) -> SettingsFile {
        let home = try ToolPlaces.home()
        let state = ToolPlaces.variable("XDG_STATE_HOME") ?? "\(home)/.local/state"
        let folder = ToolPlaces.variable("DOCKER_CONFIG") ?? "\(home)/.docker"
        let isUsual = folder == "\(home)/.docker"
        let hash = Array(folder.utf8).withUnsafeBytes { KeyedHash.digest(of: $0, count: 16) }
        let name = isUsual ? "" : "-" + Hexadecimal.text(hash)
        return try SettingsFile.forChange("\(state)/tokenkeep/setup-docker\(name)")
    }

    static func settings(_ text: String, _ path: String) throws(TokenKeepError) -> JSONValue {
        let bytes = try SecretBytes(text)
        guard let value = bytes.withUnsafeBytes({ JSONValue(parsing: $0, atMost: SettingsFile.longest) }) else {
            throw TokenKeepError(.invalid, "\(path) is not one JSON object with each member once")
        }
        return value
    }

    /// Throws ``Status/conflict`` if the member's name occurs in another spelling, or several times. docker ignores the
    /// case of names, decodes escapes and uses the last such member, so the member that setup writes might have no
    /// effect.
    private static func refuseOtherSpellings(
        of settings: JSONValue, _ text: String, _ path: String
    ) throws(TokenKeepError) {
        let spellings = settings.names.filter { $0.lowercased() == member.lowercased() }
        guard spellings.isEmpty || spellings == [member] && JSONMemberText(text, member).isPresent else {
            throw TokenKeepError(
                .conflict, "\(path) writes the name \(member) in another way",
                hint: "write it as \"\(member)\", and once")
        }
    }

    private static func notes(_ settings: JSONValue, displaced: String?) -> [String] {
        var notes: [String] = []
        if let displaced, !displaced.isEmpty {
            notes.append(DisplacedHelper.note(displaced, moves: DisplacedHelper.docker(displaced)))
        }
        for name in settings["credHelpers"]?.names ?? [] {
            let helper = settings["credHelpers"]?[name]?.text ?? ""
            notes.append(
                isAsked(for: name)
                    ? "\(ShownSetting.address(name)) keeps the helper \(helper) of its own"
                    : "\(ShownSetting.address(name)) has the helper \(helper), which docker passes over: it asks by host alone"
            )
        }
        let plain = (settings["auths"]?.names ?? []).filter { settings["auths"]?[$0]?["auth"]?.isBlank == false }
        for name in plain.map(ShownSetting.address) {
            notes.append("\(name) stays in plain text in the file: docker login \(ShellWord.quoted(name))")
        }
        return notes
    }

    /// Whether docker finds a helper that is set for this registry. docker looks for the host without a path, or for
    /// the address of Docker Hub.
    static func isAsked(for registry: String) -> Bool {
        !registry.contains("/") || registry == "https://index.docker.io/v1/"
    }
}

extension JSONValue {
    /// The value of a string member; nil if the member is absent.
    fileprivate func string(_ name: String) throws(TokenKeepError) -> String? {
        guard let member = self[name] else { return nil }
        guard let text = member.text else {
            throw TokenKeepError(.invalid, "the member \(name) of docker's configuration is no string")
        }
        return text
    }
}
