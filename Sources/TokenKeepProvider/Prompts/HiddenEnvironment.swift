import Glibc
import TokenKeepCore

/// The display of a program that overwrote its environment, as Chromium does for its title.
extension CallingProgram {
    /// The processes that are looked at.
    private static let limit = 4096

    /// The environment of the first relative or companion of this user that has a display.
    static func environmentOfOthers(than process: pid_t) -> [String: String] {
        for other in relatives(of: process) + companions(of: process) {
            guard isOwn(other), let bytes = read("/proc/\(other)/environ", atMost: 1 << 18) else { continue }
            let found = environment(in: bytes)
            if found["DISPLAY"] != nil || found["WAYLAND_DISPLAY"] != nil { return found }
        }
        return ["DISPLAY": ""]
    }

    private static func isOwn(_ process: pid_t) -> Bool {
        var owner = stat()
        return stat("/proc/\(process)", &owner) == 0 && owner.st_uid == geteuid()
    }

    /// The children and ancestors of a process.
    private static func relatives(of process: pid_t) -> [pid_t] {
        let children = read("/proc/\(process)/task/\(process)/children", atMost: 4096) ?? []
        var found = children.split(separator: UInt8(ascii: " ")).compactMap {
            pid_t(String(decoding: $0, as: UTF8.self))
        }
        var next = ProcessState(process)?.parent ?? 0
        while next > 1, found.count < 64 {
            found.append(next)
            next = ProcessState(next)?.parent ?? 0
        }
        return found
    }

    /// The processes whose program lies in the folder of the process's own, and that started after it: Chromium's crash handler
    /// keeps its environment, and is a child of process 1.
    private static func companions(of process: pid_t) -> [pid_t] {
        // Programs of all kinds lie in a folder of this name.
        guard let folder = folder(of: process), !folder.hasSuffix("/bin"),
            let start = ProcessState(process)?.start
        else { return [] }
        return (DirectoryNames.visible(in: "/proc") ?? []).compactMap { pid_t($0) }.prefix(limit).filter {
            guard $0 != process, Self.folder(of: $0) == folder, let other = ProcessState($0) else { return false }
            return other.start >= start
        }
    }

    /// The folder of a process's program; nil if the program is another user's, or gone.
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
