import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepTerminal

/// Checks for files that contain tokens in plain text. Reports the path, mode and age of such a file, and nothing of
/// its content.
struct PlainFileCheck {
    /// The maximum number of files that are read in one directory.
    private static let most = 64
    /// The maximum number of bytes that are read from one file.
    private static let longest = 1 << 20

    /// The time at which an item of the vault last changed, by the prefix of the item's service
    /// (``PlainFile/services``).
    private let kept: [String: UnixTime]

    init() {
        let services = Set(KnownTokenFile.all.compactMap(\.services))
        var kept: [String: UnixTime] = [:]
        let store = try? Store(StoreConfiguration(stackText: "any required vault"))
        for item in (try? store?.list())?.items ?? [] {
            guard let time = item.modifiedAt, let start = services.first(where: item.name.service.hasPrefix) else {
                continue
            }
            if kept[start].map({ $0.rawValue < time.rawValue }) ?? true { kept[start] = time }
        }
        self.kept = kept
    }

    func findings() -> [Finding] {
        // Report each finding once. Two variables may name the same file, and ``PlainFile/known`` has several entries
        // for a file whose kinds of tokens need different commands.
        var seen: Set<[String?]> = []
        let found = KnownTokenFile.all.flatMap { file in
            paths(of: file).compactMap { finding(file, $0) }.filter { seen.insert([$0.message, $0.hint]).inserted }
        }
        guard found.isEmpty else { return found }
        return [.ok("plaintext", "none of \(Set(KnownTokenFile.all.map(\.path)).count) known files holds a token")]
    }

    private func finding(_ file: KnownTokenFile, _ path: String) -> Finding? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else { return nil }
        guard let bytes = SmallFile.bytes(path, PlainFileCheck.longest) else { return PlainFileCheck.unread(path) }
        guard file.content.holdsToken(bytes) else {
            return bytes.count < status.st_size ? PlainFileCheck.cut(path) : nil
        }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        let written = UnixTime(Int64(status.st_mtim.tv_sec))
        let readers = status.st_mode & 0o044 == 0 ? "Each program" : "Each user of this machine, and each program"
        return .problem(
            "plaintext", "\(path) (mode \(mode), \(PlainFileCheck.age(written)))\(comparison(file, written))",
            because: "\(readers) that can read the file, and each backup of it, has the tokens."
                + (file.comesFirst ? PlainFileCheck.netrc : ""),
            hint: PlainFileCheck.command(file.command, path, bytes))
    }

    private static func unread(_ path: String) -> Finding {
        .note(
            "plaintext", "\(path) cannot be read", because: "It may hold tokens in plain text, for those who can.",
            hint: "ls -l \(ShellWord.quoted(path))")
    }

    private static func cut(_ path: String) -> Finding {
        .note(
            "plaintext", "\(path) is longer than 1 MiB, and was not read to its end",
            because: "There is no token in its start; there may be some behind.",
            hint: "grep -c -i -e token -e password \(ShellWord.quoted(path))")
    }

    private static let netrc =
        " git, curl, pip and uv read it before they ask a helper. Take the lines of git's hosts out when they are saved; "
        + "curl asks no helper, and needs its own."

    /// Returns the command with its placeholders replaced by the path, the path's directory and cargo's commands,
    /// quoted for a shell.
    private static func command(_ command: String, _ path: String, _ bytes: [UInt8]) -> String {
        switch command {
        case "'KUBE-TOKEN'": return KubeUsers.command(for: .token, in: path)
        case "'KUBE-KEY'": return KubeUsers.command(for: .key, in: path)
        default: break
        }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return command.replacing("'FILE'", with: ShellWord.quoted(path))
            .replacing("'FOLDER'", with: ShellWord.quoted(folder.isEmpty ? "/" : folder))
            .replacing("'LOGIN'", with: login(bytes, path))
    }

    /// Returns the commands that move the tokens in a file of cargo, one command for each registry.
    private static func login(_ bytes: [UInt8], _ path: String) -> String {
        let registries = CargoPlainTokens.registries(in: String(decoding: bytes, as: UTF8.self))
        return (registries.isEmpty ? [nil] : registries).map { CargoPlainTokens.commands(for: $0, in: path) }
            .joined(separator: " && ")
    }

    /// Says whether the file or the vault's items are newer; empty if the vault has no items of this kind.
    private func comparison(_ file: KnownTokenFile, _ written: UnixTime) -> String {
        guard let services = file.services, let time = kept[services] else { return "" }
        let isNewer = written.rawValue > time.rawValue
        return isNewer
            ? "; it is newer than the vault's items of this kind" : "; the vault has newer items of this kind"
    }

    private static func age(_ time: UnixTime) -> String {
        let days = max(0, (UnixTime.now.rawValue - time.rawValue) / 86_400)
        return days == 0 ? "changed today" : days == 1 ? "1 day old" : "\(days) days old"
    }

    /// The paths of a known file: one path, the paths in KUBECONFIG, or all files of a directory.
    private func paths(of file: KnownTokenFile) -> [String] {
        if file.variable == "KUBECONFIG", let list = ToolPlaces.variable("KUBECONFIG") {
            return list.split(separator: ":" as Character).prefix(PlainFileCheck.most).map(String.init)
        }
        // The name of the variable may also be in lower case, because npm accepts both spellings.
        let other = file.fileVariable.flatMap { ToolPlaces.variable($0) ?? ToolPlaces.variable($0.lowercased()) }
        guard let path = PlainFileCheck.expanded(file) else { return other.map { [$0] } ?? [] }
        guard path.hasSuffix("/*") else { return [path] + (other.map { [$0] } ?? []) }
        let folder = String(path.dropLast(2))
        return names(in: folder).prefix(PlainFileCheck.most).map { "\(folder)/\($0)" }
    }

    private static func expanded(_ file: KnownTokenFile) -> String? {
        let name = file.path.split(separator: "/" as Character).last.map(String.init) ?? ""
        if let variable = file.variable, let value = ToolPlaces.variable(variable) { return "\(value)/\(name)" }
        guard let home = try? ToolPlaces.home() else { return nil }
        let folders = [
            "~": home, "CONFIG": ToolPlaces.variable("XDG_CONFIG_HOME") ?? "\(home)/.config",
            "DATA": ToolPlaces.variable("XDG_DATA_HOME") ?? "\(home)/.local/share",
            "RUNTIME": ToolPlaces.variable("XDG_RUNTIME_DIR") ?? "/run/user/\(getuid())",
        ]
        guard let slash = file.path.firstIndex(of: "/"), let folder = folders[String(file.path[..<slash])] else {
            return nil
        }
        return folder + file.path[slash...]
    }

    private func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names.sorted()
    }
}
