import TokenKeepCore

/// The setting of the credential helper of podman, skopeo and buildah, in a separate file beside `registries.conf`.
/// These programs query the helper first, and then their own file of plain logins.
struct PodmanSettingsFile: ToolSettings {
    let name = "podman"
    private static let lines = ["credential-helpers = [\"tokenkeep\", \"containers-auth.json\"]"]

    var isUsed: Bool { ["podman", "skopeo", "buildah"].contains(where: ToolPlaces.isOnPath) }

    func setUp() throws(TokenKeepError) -> SettingsChange? {
        guard ToolPlaces.isOnPath("docker-credential-tokenkeep") else {
            throw TokenKeepError(
                .unsupported, "docker-credential-tokenkeep is not on the PATH, where podman looks for it")
        }
        let file = try SettingsFile.forChange(PodmanSettingsFile.path())
        let home = try ToolPlaces.home()
        let others = PodmanHelpers(besides: file.path, home: home)
        if let overriding = others.overriding {
            guard !overriding.hasOurs else { return nil }
            throw TokenKeepError(
                .conflict, "podman reads \(overriding.path) after \(file.path), and it names other helpers",
                hint: "add \"tokenkeep\" in front of them yourself")
        }
        guard try SettingsBlock.removed(from: file, where: PodmanSettingsFile.isOurs) == nil else { return nil }
        guard file.text?.contains("credential-helpers") != true else {
            throw TokenKeepError(
                .conflict, "\(file.path) names helpers already", hint: "add \"tokenkeep\" in front of them yourself")
        }
        guard others.displaced?.hasOurs != true else { return nil }
        let lines = PodmanSettingsFile.lines
        let text = SettingsBlock(lines: lines).appended(to: file.text)
        return SettingsChange(file: file, text: text, lines: lines, notes: others.notes(home: home))
    }

    func undo() throws(TokenKeepError) -> SettingsChange? {
        let file = try SettingsFile.forChange(PodmanSettingsFile.path())
        let removed = try SettingsBlock.removed(from: file, where: PodmanSettingsFile.isOurs)
        return removed.map { SettingsChange(file: file, text: $0.text, lines: $0.lines) }
    }

    private static func isOurs(_ lines: [String]) -> Bool { lines == self.lines }

    /// The path is below the home directory, because these programs ignore `XDG_CONFIG_HOME` for this file.
    private static func path() throws(TokenKeepError) -> String {
        try ToolPlaces.home() + "/.config/containers/registries.conf.d/tokenkeep.conf"
    }
}
