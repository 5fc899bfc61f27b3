import Glibc

/// Reads the start of a file, whoever owns the file.
enum SmallFile {
    /// The longest text that is read, in bytes.
    private static let longest = 1 << 16

    /// At most 64 KiB of a regular file; nil if it cannot be read or is not UTF-8.
    ///
    /// Files of `/proc` count as regular. A pipe or a device in the file's place is not waited for.
    static func text(_ path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: longest)
        var count = 0
        while count < bytes.count {
            let part = bytes.withUnsafeMutableBytes {
                read(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            guard part > 0 else { break }
            count += part
        }
        return String(validating: bytes[..<count], as: UTF8.self)
    }
}
