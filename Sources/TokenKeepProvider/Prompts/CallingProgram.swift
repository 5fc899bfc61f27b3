import CSystemdBus
import Glibc
import TokenKeepCore

/// A client's process, with the terminal or display on which its user can be asked.
struct CallingProgram: Sendable {
    let process: pid_t
    let start: UInt64
    /// The path of the terminal in whose foreground the program runs; nil if it has none that can be opened.
    let terminal: String?
    /// The program's environment variables that a question to the user needs.
    let environment: [String: String]

    /// Whether the program's display is unknown.
    ///
    /// This is so if the program overwrote its environment and no related process names a display.
    var hidesDisplay: Bool { environment["DISPLAY"] == "" }
    var hasDisplay: Bool { environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil }

    /// The names of the variables that a question to the user needs. They are read from the client, because the values
    /// in the provider's own environment may belong to another session.
    private static let needed: Set<String> = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TERM", "LANG",
        "LC_ALL",
        "LC_CTYPE",
    ]

    /// Reads a process's state from /proc; nil if the process is gone or another user's.
    init?(_ process: pid_t) {
        var owner = stat()
        guard let before = ProcessState(process), stat("/proc/\(process)", &owner) == 0, owner.st_uid == geteuid()
        else { return nil }
        environment = CallingProgram.environment(of: process)
        terminal = before.isInForeground ? CallingProgram.terminal(before, process) : nil
        // A different start time means that the process id was reused while /proc was read.
        guard let after = ProcessState(process), after.start == before.start else { return nil }
        self.process = process
        start = before.start
    }

    /// Whether the process still runs and, if it has a terminal, is in that terminal's foreground.
    var isWaiting: Bool {
        guard let state = ProcessState(process), state.start == start else { return false }
        return terminal == nil || state.isInForeground
    }

    /// The printable name of a process's program; "a program" if the process has ended.
    static func name(of process: pid_t) -> String {
        guard let bytes = read("/proc/\(process)/comm", atMost: 64) else { return "a program" }
        let printable = bytes.filter { $0 > 0x20 && $0 < 0x7f }
        return printable.isEmpty ? "a program" : String(decoding: printable, as: UTF8.self)
    }

    /// The id of the Flatpak application that a process belongs to; nil if there is none. Used only in the log, because
    /// a sandboxed program can forge the file that contains the id.
    static func sandbox(of process: pid_t) -> String? {
        guard let bytes = read("/proc/\(process)/root/.flatpak-info", atMost: 4096),
            let line = bytes.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: "name=".utf8) })
        else { return nil }
        let name = line.dropFirst(5).prefix(255).filter { $0 > 0x20 && $0 < 0x7f }
        return String(decoding: name, as: UTF8.self)
    }

    private static func environment(of process: pid_t) -> [String: String] {
        guard let bytes = read("/proc/\(process)/environ", atMost: 1 << 18) else { return [:] }
        // Chromium overwrites its environment with zeros when it sets its process title.
        guard bytes.isEmpty || bytes.contains(where: { $0 != 0 }) else { return environmentOfOthers(than: process) }
        return environment(in: bytes)
    }

    static func environment(in bytes: [UInt8]) -> [String: String] {
        var found: [String: String] = [:]
        for entry in bytes.split(separator: 0) {
            let parts = entry.split(separator: UInt8(ascii: "="), maxSplits: 1)
            guard parts.count == 2 else { continue }
            let name = String(decoding: parts[0], as: UTF8.self)
            if needed.contains(name) { found[name] = String(decoding: parts[1], as: UTF8.self) }
        }
        return found
    }

    /// The terminal's path; nil if the program sees another device under that path, as in a container.
    private static func terminal(_ state: ProcessState, _ process: pid_t) -> String? {
        guard let number = state.pseudoTerminal else { return nil }
        let path = "/dev/pts/\(number)"
        guard tokenkeep_is_same_file(path, "/proc/\(process)/root\(path)") != 0, access(path, R_OK | W_OK) == 0
        else { return nil }
        return path
    }

    static func read(_ path: String, atMost limit: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: limit)
        var length = 0
        while length < limit {
            let count = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress.map { $0 + length }, limit - length)
            }
            guard count > 0 else { break }
            length += count
        }
        return Array(bytes.prefix(length))
    }
}

/// Fields of `/proc/PID/stat` (proc(5)).
struct ProcessState {
    let start: UInt64
    let parent: pid_t
    let isInForeground: Bool
    /// The number of the controlling pseudo-terminal; nil if the process has no terminal or one of another kind.
    let pseudoTerminal: Int?

    init?(_ process: pid_t) {
        // The last parenthesis ends the program's name, because the name itself may contain parentheses.
        guard let bytes = CallingProgram.read("/proc/\(process)/stat", atMost: 4096),
            let end = bytes.lastIndex(of: UInt8(ascii: ")"))
        else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 19, let parent = pid_t(fields[1]), let group = Int(fields[2]),
            let terminal = Int(fields[4]),
            let foreground = Int(fields[5]), let start = UInt64(fields[19])
        else { return nil }
        self.start = start
        self.parent = parent
        isInForeground = group == foreground && !["T", "t", "Z", "X"].contains(fields[0])
        let major = (terminal >> 8) & 0xfff
        let minor = (terminal & 0xff) | ((terminal >> 12) & 0xfff00)
        pseudoTerminal = (136...143).contains(major) ? (major - 136) * 256 + minor : nil
    }
}
