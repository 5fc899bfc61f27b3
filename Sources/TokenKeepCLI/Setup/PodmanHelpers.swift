import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// The files in which podman, skopeo and buildah find the names of their helpers, besides setup's own file.
struct PodmanHelpers {
    /// A file that names helpers.
    struct Setting {
        let path: String
        let helpers: [String]

        var hasOurs: Bool { helpers.first == "tokenkeep" }
    }

    private static let key = "credential-helpers"
    /// The program's own file of logins, which is no helper.
    static let plainFile = "containers-auth.json"
    private static let system = "/etc/containers"
    /// The maximum number of files that are read in one directory.
    private static let most = 256

    /// The setting that counts without setup's file; nil if no file that is read before setup's file names helpers.
    let displaced: Setting?
    /// The setting that counts although setup's file is there, because its file is read later; nil for none.
    let overriding: Setting?

    /// Reads the files in podman's order (containers-registries.conf(5)). The last file that names helpers counts.
    ///
    /// - Parameter ours: the path of setup's file.
    init(besides ours: String, home: String) {
        var isLater = false
        var (displaced, overriding) = (Setting?.none, Setting?.none)
        for path in PodmanHelpers.paths(home: home, ours) {
            guard path != ours else {
                isLater = true
                continue
            }
            let settings = SmallFile.text(path).map { TOMLSettings($0).all } ?? []
            guard let found = settings.first(where: { $0.path == [PodmanHelpers.key] }) else { continue }
            let setting = Setting(path: path, helpers: found.strings)
            if isLater { overriding = setting } else { displaced = setting }
        }
        (self.displaced, self.overriding) = (displaced, overriding)
    }

    /// The files in the order in which podman reads them, with setup's own at its place.
    private static func paths(home: String, _ ours: String) -> [String] {
        let own = "\(home)/.config/containers"
        let named = ToolPlaces.variable("CONTAINERS_REGISTRIES_CONF")
        let isOwn = named == nil && ToolPlaces.exists("\(own)/registries.conf")
        let main = named ?? "\(isOwn ? own : system)/registries.conf"
        let distribution = "/usr/share/containers/registries.conf"
        // A file of the user hides the files of the system.
        let folders = (isOwn ? [] : [system]) + [own]
        let first = named == nil && !isOwn && !ToolPlaces.exists(main) ? distribution : main
        return [first] + folders.flatMap { names(in: "\($0)/registries.conf.d", with: ours) }
    }

    private static func names(in folder: String, with ours: String) -> [String] {
        var paths = ours.hasPrefix("\(folder)/") ? [ours] : []
        guard let directory = opendir(folder) else { return paths }
        defer { closedir(directory) }
        while paths.count < most, let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let path = "\(folder)/\(name)"
            if name.hasSuffix(".conf"), path != ours { paths.append(path) }
        }
        return paths.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

extension PodmanHelpers {
    /// Notes about the helpers that podman asked so far, and about those of single registries, which it asks later.
    func notes(home: String) -> [String] {
        let helpers = (displaced?.helpers ?? []).filter { $0 != PodmanHelpers.plainFile }
        let general = helpers.map { helper in
            DisplacedHelper.note(
                "\(ShownSetting.helper(helper)) of \(displaced?.path ?? "")", moves: DisplacedHelper.docker(helper))
        }
        return general + PodmanHelpers.authFiles(home: home).flatMap(PodmanHelpers.notes)
    }

    private static func authFiles(home: String) -> [String] {
        if let named = ToolPlaces.variable("REGISTRY_AUTH_FILE") { return [named] }
        let runtime = ToolPlaces.variable("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())"
        let config = ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config"
        return [runtime, config].map { "\($0)/containers/auth.json" }
    }

    private static func notes(_ path: String) -> [String] {
        guard let text = SmallFile.text(path), let settings = try? DockerSettingsFile.settings(text, path),
            let helpers = settings["credHelpers"]
        else { return [] }
        return helpers.names.compactMap { name in
            guard let helper = helpers[name]?.text, !helper.isEmpty, helper != "tokenkeep" else { return nil }
            return
                "the helper \(ShownSetting.helper(helper)) of \(ShownSetting.address(name)) in \(path) is asked after it"
        }
    }
}
