import Foundation

/// How much memory this process has.
enum ResidentMemory {
    /// In KiB; 0 if /proc cannot be read.
    static var kib: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
    }
}
