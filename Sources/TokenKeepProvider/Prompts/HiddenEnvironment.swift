import CSystemdBus
import Glibc
import TokenKeepCore

/// The display of a program that overwrote its environment, as Chromium does for its title.
extension CallingProgram {
    /// The maximum number of processes that are examined.
    private static let limit = 4096

    /// Finds the environment of a program's crash handler, or of a child of the program, that names a display.
    ///
    /// The crash handler inherits the program's environment; a child's environment is set by the program. The parent is
    /// not used, because a shell on another display can start the program by `DISPLAY=:1 chromium`.
    static func environmentOfOthers(than process: pid_t) -> [String: String] {
        let hidden = ["DISPLAY": ""]
        let handlers = crashHandlers(of: process).compactMap(ownEnvironment)
        if let first = handlers.first {
            return handlers.allSatisfy { hasSameDisplay($0, first) } ? first : hidden
        }
        return children(of: process).lazy.compactMap(ownEnvironment).first ?? hidden
    }

    private static func hasSameDisplay(_ one: [String: String], _ other: [String: String]) -> Bool {
        one["DISPLAY"] == other["DISPLAY"] && one["WAYLAND_DISPLAY"] == other["WAYLAND_DISPLAY"]
    }

    /// The environment of a process of this user; nil if it names no display or if the process id was reused meanwhile.
    private static func ownEnvironment(of process: pid_t) -> [String: String]? {
        guard let before = ProcessState(process), isOwn(process),
            let bytes = read("/proc/\(process)/environ", atMost: 1 << 18),
            ProcessState(process)?.start == before.start
        else { return nil }
        let found = environment(in: bytes)
        return found["DISPLAY"] != nil || found["WAYLAND_DISPLAY"] != nil ? found : nil
    }

    private static func isOwn(_ process: pid_t) -> Bool {
        var owner = stat()
        return stat("/proc/\(process)", &owner) == 0 && owner.st_uid == geteuid()
    }

    private static func children(of process: pid_t) -> [pid_t] {
        let children = read("/proc/\(process)/task/\(process)/children", atMost: 4096) ?? []
        return children.split(separator: UInt8(ascii: " ")).compactMap { pid_t(String(decoding: $0, as: UTF8.self)) }
    }

    /// The ancestors of a process except process 1, the parent first.
    private static func ancestors(of process: pid_t) -> [pid_t] {
        var found: [pid_t] = []
        var next = ProcessState(process)?.parent ?? 0
        while next > 1, found.count < 64 {
            found.append(next)
            next = ProcessState(next)?.parent ?? 0
        }
        return found
    }

    /// The crash handlers that a Chromium or Electron program may have started, the earliest started first. A crash
    /// handler keeps its environment, and its parent is process 1 or a subreaper, which is also the program's ancestor.
    private static func crashHandlers(of process: pid_t) -> [pid_t] {
        guard let folder = folder(of: process), let start = ProcessState(process)?.start else { return [] }
        let parents = Set(ancestors(of: process) + [1, process])
        let found = (DirectoryNames.visible(in: "/proc") ?? []).compactMap { pid_t($0) }.prefix(limit)
            .compactMap { other -> (pid_t, UInt64)? in
                guard read("/proc/\(other)/comm", atMost: 64)?.starts(with: "chrome_crashpad".utf8) == true,
                    let state = ProcessState(other), state.start >= start, parents.contains(state.parent),
                    let itsFolder = Self.folder(of: other),
                    // The files are compared, because a container can have a different folder with the same path.
                    tokenkeep_is_same_file("/proc/\(process)/root\(folder)", "/proc/\(other)/root\(itsFolder)") != 0
                else { return nil }
                return (other, state.start)
            }
        return found.sorted { $0.1 < $1.1 }.map(\.0)
    }

    /// The folder of a process's executable; nil if the process is another user's or gone.
    private static func folder(of process: pid_t) -> String? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let length = bytes.withUnsafeMutableBytes { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { readlink("/proc/\(process)/exe", $0, text.count) } ?? -1
            }
        }
        guard length > 0, let end = bytes[..<length].lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}
