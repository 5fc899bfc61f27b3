import Glibc

/// The log: lines on standard error, which systemd's journal collects.
enum Log {
    /// Writes one line. Control characters become "?".
    static func line(_ text: String) {
        var line = "tokenkeep-secret-service: "
        for scalar in text.unicodeScalars {
            line.unicodeScalars.append(scalar.value < 0x20 || (0x7f...0x9f).contains(scalar.value) ? "?" : scalar)
        }
        let bytes = Array((line + "\n").utf8)
        _ = bytes.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
