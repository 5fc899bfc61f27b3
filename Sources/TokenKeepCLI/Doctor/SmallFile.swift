import Glibc
import TokenKeepCore

/// Reads the start of a file, whoever owns the file.
enum SmallFile {
    /// The maximum number of bytes that are read as a text.
    private static let longest = 1 << 16

    /// Reads at most 64 KiB of a regular file as a text without a byte order mark; nil if the file cannot be read or is
    /// not UTF-8.
    ///
    /// Files of `/proc` count as regular. If the path names a pipe or a device, returns at once.
    static func text(_ path: String) -> String? {
        bytes(path, longest).flatMap(text)
    }

    /// Reads at most `limit` bytes of a regular file; nil if it cannot be read.
    static func bytes(_ path: String, _ limit: Int) -> [UInt8]? { read(path, limit)?.bytes }

    /// Reads a text like ``text(_:)``, and returns whether only this program's user and root can write the file.
    static func textAndTrust(_ path: String) -> (text: String, isTrusted: Bool)? {
        guard let (bytes, status) = read(path, longest), let text = text(bytes) else {
            return nil
        }
        return (text, (status.st_uid == geteuid() || status.st_uid == 0) && status.st_mode & 0o022 == 0)
    }

    private static func text(_ bytes: [UInt8]) -> String? {
        String(validating: bytes.dropFirst(ByteOrderMark.length(of: bytes)), as: UTF8.self)
    }

    private static func read(_ path: String, _ limit: Int) -> (bytes: [UInt8], status: stat)? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let part = Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, limit - count)
                guard part > 0 else { break }
                count += part
            }
        }
        return (bytes, status)
    }
}
