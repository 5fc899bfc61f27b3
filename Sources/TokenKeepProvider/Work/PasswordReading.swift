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
        try checkOwnerAndMode(of: descriptor, path)
        return try line(of: descriptor, path)
    }

    /// Refuses a file that another user may have written or may read. Files of root may be readable by all.
    private static func checkOwnerAndMode(of descriptor: Int32, _ name: String) throws(TokenKeepError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw TokenKeepError(.io, "cannot read \(name): \(Bus.describe(errno))")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenKeepError(
                .denied, "\(name) belongs to user \(status.st_uid)", hint: "use a file of your own or of root")
        }
        guard status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o022 == 0 else {
            throw TokenKeepError(.denied, "other users may change \(name)", hint: "chmod go-w the file")
        }
        guard status.st_uid == 0 || status.st_mode & S_IFMT != S_IFREG || status.st_mode & 0o044 == 0 else {
            throw TokenKeepError(.denied, "other users may read \(name)", hint: "chmod go-r the file")
        }
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
