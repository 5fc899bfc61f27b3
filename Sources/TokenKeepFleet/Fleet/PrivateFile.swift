import Glibc
import TokenKeepCore

/// Files that only this user can read and write. A write replaces the whole file.
enum PrivateFile {
    /// The maximum length of a file, in bytes.
    private static let longest = 64 << 20

    /// Writes a file durably, and creates its directories.
    static func write(_ bytes: [UInt8], to path: String) throws(TokenKeepError) {
        try OwnedPlace.check(path)
        try makeDirectories(of: path)
        let temporary = "\(path).\(getpid()).tmp"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure(path, "written") }
        var isWritten = true
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while isWritten, !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { isWritten = false }
            }
        }
        isWritten = isWritten && fdatasync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            let error = failure(path, "written")
            unlink(temporary)
            throw error
        }
    }

    /// Reads a file; nil if it is missing or too long.
    ///
    /// - Parameter followsLinks: whether symbolic links are followed. True for a certificate's path, which is often a
    ///   link to the newest certificate.
    static func read(_ path: String, followsLinks: Bool = false) throws(TokenKeepError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw failure(path, "read")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while bytes.count <= longest {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 { bytes += chunk.prefix(count) } else if errno != EINTR { throw failure(path, "read") }
        }
        return nil
    }

    static func makeDirectories(of path: String) throws(TokenKeepError) {
        var made = ""
        for part in path.split(separator: "/").dropLast() {
            made += "/\(part)"
            guard mkdir(made, 0o700) != 0, errno != EEXIST, access(made, F_OK) != 0 else { continue }
            throw failure(made, "made")
        }
    }

    private static func failure(_ path: String, _ verb: String) -> TokenKeepError {
        let words = strerror(errno).map { String(cString: $0) } ?? "error \(errno)"
        return TokenKeepError(.io, "\(path) cannot be \(verb): \(words)")
    }
}
