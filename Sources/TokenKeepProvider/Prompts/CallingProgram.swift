import CSystemShims
import Glibc

/// What the kernel says about a client's process.
enum CallingProgram {
    /// The name of a process's program, printable; "a program" if the process has ended.
    static func name(of process: pid_t) -> String {
        guard let bytes = read("/proc/\(process)/comm", atMost: 64) else { return "a program" }
        let printable = bytes.filter { $0 > 0x20 && $0 < 0x7f }
        return printable.isEmpty ? "a program" : String(decoding: printable, as: UTF8.self)
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
