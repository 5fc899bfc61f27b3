import Foundation

/// How much memory this process has.
enum ResidentMemory {
    /// Not under AddressSanitizer, which keeps what is freed.
    static var isMeasurable: Bool { dlsym(nil, "__asan_init") == nil }

    /// In KiB; 0 if /proc cannot be read.
    static var kib: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
    }
}
