import CSystemdBus
import Glibc
import TokenKeepCore

/// A client's process, as the kernel describes it: where its user can be asked.
struct CallingProgram: Sendable {
    let process: pid_t
    let start: UInt64
    /// The path of the terminal that the program controls; nil for none that can be used.
    let terminal: String?
    /// The variables of the program's environment that a question needs.
    let environment: [String: String]

    /// Whether the program overwrote its environment and no process near it has a display: it may have one.
    var hidesDisplay: Bool { environment["DISPLAY"] == "" }
    var hasDisplay: Bool { environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil }

    /// The variables that a question to the user needs. The service's own are those of another session.
    private static let needed: Set<String> = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "TERM", "LANG",
        "LC_ALL",
        "LC_CTYPE",
    ]

    /// Reads what the kernel says about a process; nil if the process is gone or another user's.
    init?(_ process: pid_t) {
        var owner = stat()
        guard let before = ProcessState(process), stat("/proc/\(process)", &owner) == 0, owner.st_uid == geteuid()
        else { return nil }
        environment = CallingProgram.environment(of: process)
        terminal = before.isInForeground ? CallingProgram.terminal(before, process) : nil
        // The number may have become another program's meanwhile.
        guard let after = ProcessState(process), after.start == before.start else { return nil }
        self.process = process
        start = before.start
    }

    /// Whether the program is still there, and in the foreground of its terminal.
    var isWaiting: Bool {
        guard let state = ProcessState(process), state.start == start else { return false }
        return terminal == nil || state.isInForeground
    }

    /// The name of a process's program, printable; "a program" if the process has ended.
    static func name(of process: pid_t) -> String {
        guard let bytes = read("/proc/\(process)/comm", atMost: 64) else { return "a program" }
        let printable = bytes.filter { $0 > 0x20 && $0 < 0x7f }
        return printable.isEmpty ? "a program" : String(decoding: printable, as: UTF8.self)
    }

    /// The Flatpak application in which a process runs; nil for none. The file is the sandbox's own: for the log alone.
    static func sandbox(of process: pid_t) -> String? {
        guard let bytes = read("/proc/\(process)/root/.flatpak-info", atMost: 4096),
            let line = bytes.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: "name=".utf8) })
        else { return nil }
        let name = line.dropFirst(5).prefix(255).filter { $0 > 0x20 && $0 < 0x7f }
        return String(decoding: name, as: UTF8.self)
    }

    private static func environment(of process: pid_t) -> [String: String] {
        guard let bytes = read("/proc/\(process)/environ", atMost: 1 << 18) else { return [:] }
        // Chromium's title overwrites its environment with zeros.
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

    /// The terminal's path, if the program sees the same device under this path: a container has devices of its own.
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
    /// The number of the controlling pseudo-terminal; nil for none, or for a terminal of another kind.
    let pseudoTerminal: Int?

    init?(_ process: pid_t) {
        // The program's name, which may hold anything, ends with the last parenthesis.
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
