import CSystemdBus
import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// The files by which xdg-desktop-portal finds the provider: a `.portal` file and a line of the user's `portals.conf`.
///
/// xdg-desktop-portal before 1.18 ignores `portals.conf` and uses any backend, so no file is written for older
/// versions.
struct PortalFiles {
    private static let name = "tokenkeep"
    private static let interface = "org.freedesktop.impl.portal.Secret"
    private static let service = "org.freedesktop.portal.Desktop.service"

    private static let limit = 65_536

    private let data: String
    private let settings: String

    /// nil if the user has no home directory.
    init?() {
        let home = Activation.home
        guard let data = Activation.variable("XDG_DATA_HOME") ?? home.map({ "\($0)/.local/share" }),
            let settings = Activation.variable("XDG_CONFIG_HOME") ?? home.map({ "\($0)/.config" })
        else { return nil }
        self.data = "\(data)/xdg-desktop-portal/portals"
        self.settings = "\(settings)/xdg-desktop-portal"
    }

    private var portal: String { "\(data)/\(PortalFiles.name).portal" }
    private var line: String { "\(PortalFiles.interface)=\(PortalFiles.name)" }

    /// The path of the user's `portals.conf`; nil if there is none. No new file is made, because it would hide the
    /// desktop's settings.
    private var configuration: String? {
        let desktops = (getenv("XDG_CURRENT_DESKTOP").map { String(cString: $0) } ?? "").split(separator: ":")
        let names = desktops.map { "\($0.lowercased())-portals.conf" } + ["portals.conf"]
        return names.map { "\(settings)/\($0)" }.first { access($0, F_OK) == 0 }
    }

    /// Writes both files. Returns a line to print for the user; nil if there is nothing to report.
    func write() throws(TokenKeepError) -> String? {
        guard let version = PortalFiles.version(), version >= (1, 18) else { return nil }
        guard let path = configuration else {
            return "sandboxed programs: no portals.conf of yours names a backend, so the desktop's choice stays"
        }
        guard let present = PortalFiles.text(of: path) else {
            return "sandboxed programs: \(path) is too long or no text in UTF-8, and stays as it is"
        }
        guard let text = withLine(present) else {
            return "sandboxed programs: \(path) names another backend for secrets, which stays"
        }
        try FileReplacement.write(
            "[portal]\nDBusName=\(Provider.name)\nInterfaces=\(PortalFiles.interface)\n", to: portal)
        if text != present { try FileReplacement.write(text, to: path) }
        return "sandboxed programs: \(path) names the provider"
    }

    /// Removes what ``write()`` wrote, from the settings of every desktop. The `.portal` file is removed last, so that
    /// a failed removal can be repeated.
    func remove() throws(TokenKeepError) {
        guard access(portal, F_OK) == 0 else { return }
        for name in Units.names(in: settings) where name == "portals.conf" || name.hasSuffix("-portals.conf") {
            let path = "\(settings)/\(name)"
            guard let present = PortalFiles.text(of: path) else { continue }
            let lines = present.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            let others = lines.filter { PortalFiles.backend(in: $0) != PortalFiles.name }
            if others.count < lines.count { try FileReplacement.write(others.joined(separator: "\n"), to: path) }
        }
        guard unlink(portal) == 0 || errno == ENOENT else { throw FileReplacement.failure(portal) }
    }

    /// The whole text of a file; nil if the file is too long or not UTF-8, and therefore cannot be rewritten.
    private static func text(of path: String) -> String? {
        guard let bytes = CallingProgram.read(path, atMost: limit + 1), bytes.count <= limit else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The backend for secrets that a line names; nil if the line names none. Spaces around key and value are ignored.
    private static func backend(in line: String) -> String? {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, trimmed(parts[0]) == interface else { return nil }
        return trimmed(parts[1])
    }

    private static func trimmed(_ text: Substring) -> String {
        let head = text.drop(while: \.isWhitespace)
        return String(head.reversed().drop(while: \.isWhitespace).reversed())
    }

    /// The settings with our line below `[preferred]`; nil if the settings name another backend for secrets.
    private func withLine(_ text: String) -> String? {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if let backend = lines.compactMap(PortalFiles.backend).first {
            return backend == PortalFiles.name ? text : nil
        }
        if let head = lines.firstIndex(where: { PortalFiles.trimmed($0[...]) == "[preferred]" }) {
            lines.insert(line, at: head + 1)
        } else {
            if lines.last == "" { lines.removeLast() }
            lines += ["[preferred]", line, ""]
        }
        return lines.joined(separator: "\n")
    }

    /// The version of xdg-desktop-portal; nil if it is not installed or does not answer within two seconds.
    private static func version() -> (Int, Int)? {
        let files = Activation.folders.map { "\($0)/dbus-1/services/\(service)" }
        guard let file = files.lazy.compactMap(Activation.text).first,
            let program = Activation.command(of: file)?.first,
            let outcome = try? ProgramRun([program, "--version"]).run(
                input: nil, until: Deadline(milliseconds: 2_000)),
            let text = outcome.output.utf8String
        else { return nil }
        let parts = text.split { !($0.isNumber || $0 == ".") }.first { $0.contains(".") }?.split(separator: ".")
        guard let parts, parts.count > 1, let major = Int(parts[0]), let minor = Int(parts[1]) else { return nil }
        return (major, minor)
    }
}
