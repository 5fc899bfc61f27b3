import CSystemdBus
import Glibc
import TokenKeepCore

/// The activation file by which the message bus starts this program for `org.freedesktop.secrets`.
struct Activation {
    static let fileName = "org.freedesktop.secrets.service"
    static let unit = "tokenkeep-secret-service.service"
    /// The comment line that marks our activation file if `enable --replace` wrote it.
    private static let replaces = "# It replaces another keyring: tokenkeep secret-service enable --replace"
    private static let limit = 65_536

    /// The folder of the user's own activation files.
    let folder: String
    var path: String { "\(folder)/\(Activation.fileName)" }

    init() throws(TokenKeepError) {
        guard let home = Activation.variable("XDG_DATA_HOME") ?? Activation.home.map({ "\($0)/.local/share" }) else {
            throw TokenKeepError(.io, "you have no home directory")
        }
        folder = "\(home)/dbus-1/services"
    }

    static var home: String? { variable("HOME") }

    static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), value.hasPrefix("/") else { return nil }
        return value
    }

    static func text(of path: String) -> String? {
        CallingProgram.read(path, atMost: limit).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Whether the text of an activation file starts this program.
    static func isOurs(_ text: String) -> Bool {
        lines(of: text).contains { $0.hasPrefix("Exec=") && $0.hasSuffix("tokenkeep-secret-service") }
    }

    static func lines(of text: String) -> [String] {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }
    }

    /// Whether the user's activation file exists and is ours.
    var isEnabled: Bool { Activation.text(of: path).map(Activation.isOurs) ?? false }

    /// Whether our file exists and was written without `--replace`, so that it gives way to another keyring.
    var yields: Bool {
        guard let text = Activation.text(of: path), Activation.isOurs(text) else { return false }
        return !Activation.lines(of: text).contains(Activation.replaces)
    }

    /// Writes our file atomically, by a rename.
    func write(replacing isReplacing: Bool) throws(TokenKeepError) {
        var text = "# Written by tokenkeep secret-service enable; disable removes it.\n"
        if isReplacing { text += "\(Activation.replaces)\n" }
        text += "[D-BUS Service]\nName=\(Provider.name)\nExec=\(try Activation.program())\n"
        if Units.hasOurs { text += "SystemdService=\(Activation.unit)\n" }
        try FileReplacement.write(text, to: path)
    }

    func remove() throws(TokenKeepError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileReplacement.failure(path) }
    }

    /// The path of this program.
    static func program() throws(TokenKeepError) -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &path, path.count)
        guard length > 0 else { throw TokenKeepError(.io, "the path of the program is unknown") }
        return String(decoding: path.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The data folders whose `dbus-1/services` the bus searches for activation files, in the bus's order.
    static var folders: [String] {
        let own = [variable("XDG_RUNTIME_DIR"), variable("XDG_DATA_HOME") ?? home.map { "\($0)/.local/share" }]
        let system = getenv("XDG_DATA_DIRS").map { String(cString: $0) } ?? "/usr/local/share:/usr/share"
        return own.compactMap(\.self) + system.split(separator: ":").map(String.init)
    }

    /// The program that an activation file starts, with its arguments; nil if the file names no program.
    static func command(of text: String) -> [String]? {
        guard let line = lines(of: text).first(where: { $0.hasPrefix("Exec=") }) else { return nil }
        let words = line.dropFirst(5).split(separator: " ").map(String.init)
        return words.isEmpty ? nil : words
    }

    /// The paths of other keyrings' activation files, in the bus's search order.
    var others: [String] {
        let files = Activation.folders.map { "\($0)/dbus-1/services/\(Activation.fileName)" }
        var found: [String] = []
        for file in files where !found.contains(file) {
            if let text = Activation.text(of: file), !Activation.isOurs(text) { found.append(file) }
        }
        return found
    }
}

/// The user units of systemd, and the autostart entries of the desktop.
enum Units {
    private static let folders = [
        "/etc/systemd/user", "/run/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
        "/usr/local/share/systemd/user", "/usr/share/systemd/user",
    ]

    private static var all: [String] {
        (Activation.home.map { ["\($0)/.config/systemd/user", "\($0)/.local/share/systemd/user"] } ?? []) + folders
    }

    static var hasOurs: Bool { all.contains { access("\($0)/\(Activation.unit)", F_OK) == 0 } }

    /// The paths of other keyrings' user units: their `BusName` is the service's name.
    static var others: [String] {
        all.flatMap { folder in
            names(in: folder).filter { $0.hasSuffix(".service") && $0 != Activation.unit }.map { "\(folder)/\($0)" }
        }.filter { path in
            Activation.text(of: path).map { Activation.lines(of: $0).contains("BusName=\(Provider.name)") } ?? false
        }
    }

    /// The paths of the desktop's autostart entries that start gnome-keyring with the session.
    static var autostart: [String] {
        let own = Activation.variable("XDG_CONFIG_HOME") ?? Activation.home.map { "\($0)/.config" }
        let system = getenv("XDG_CONFIG_DIRS").map { String(cString: $0) } ?? "/etc/xdg"
        let folders = [own].compactMap { $0 } + system.split(separator: ":").map(String.init)
        var found: [String] = []
        for path in folders.map({ "\($0)/autostart/gnome-keyring-secrets.desktop" }) {
            guard let text = Activation.text(of: path) else { continue }
            // Only the first file with this name counts, and an entry with `Hidden=true` starts nothing.
            if !Activation.lines(of: text).contains("Hidden=true") { found.append(path) }
            break
        }
        return found
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                })
        }
        return names.sorted()
    }
}
