import CSystemdBus
import Glibc
import TokenKeepCore

/// Reads a password from a file or a descriptor: its first line, without the line's end.
enum PasswordReading {
    private static let limit = 4096

    static func file(_ path: String) throws(TokenKeepError) -> SecretBytes {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else {
            throw TokenKeepError(.io, "cannot read \(path): \(Bus.describe(errno))")
        }
        defer { close(descriptor) }
        return try line(of: descriptor, path)
    }

    /// Reads the first line of a descriptor.
    ///
    /// - Throws: ``Status/invalid`` for an empty or overlong line.
    static func line(of descriptor: Int32, _ source: String) throws(TokenKeepError) -> SecretBytes {
        let text = try SecretBytes(capacity: limit) { bytes throws(TokenKeepError) in
            var length = 0
            while length < bytes.count {
                let count = read(descriptor, bytes.baseAddress.map { $0 + length }, bytes.count - length)
                guard count >= 0 else { throw TokenKeepError(.io, "cannot read \(source): \(Bus.describe(errno))") }
                guard count > 0 else { break }
                length += count
            }
            return bytes.prefix(length).firstIndex(of: UInt8(ascii: "\n")) ?? length
        }
        guard text.count > 0, text.count < limit else {
            throw TokenKeepError(.invalid, "\(source) has no password in its first line")
        }
        return text
    }
}
