internal import CSystemShims
import Glibc

/// The text of a configuration file, which describes a stack (modules to ask in order) or a sign-in provider.
package struct ConfigurationFile {
    /// The maximum length of a configuration file's text, in bytes.
    package static let maximumLength = 64 * 1024

    package let path: String
    package let text: String

    package init(path: String, text: String) {
        self.path = path
        self.text = text
    }

    /// Reads the file at a path; nil if there is no file.
    ///
    /// - Throws: ``Status/invalid`` if the file is not a regular file, if neither this user nor root owns the file, or
    ///   if the file is writable by others, too long or not UTF-8; ``Status/denied`` or ``Status/io`` if the file
    ///   cannot be read.
    package init?(path: String) throws(TokenKeepError) {
        // Without O_NONBLOCK, the open would block if the path names a pipe that nobody writes to.
        let descriptor = tokenkeep_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0)
        guard descriptor >= 0 else {
            let error = errno
            if ConfigurationFile.isAbsent(path, error) { return nil }
            throw ConfigurationFile.failure(path, error)
        }
        defer { close(descriptor) }
        try ConfigurationFile.check(descriptor, path)
        guard let text = String(validating: try ConfigurationFile.bytes(of: descriptor, path), as: UTF8.self) else {
            throw TokenKeepError(.invalid, "\(path): expected UTF-8")
        }
        self.init(path: path, text: text)
    }

    /// Reads the file `NAME.conf` in a directory; nil if there is no file.
    ///
    /// - Throws: the errors of ``init(path:)``; ``Status/denied`` if other users may write to the directory or to a
    ///   parent directory, because they could replace the file.
    package init?(named name: String, in directory: String) throws(TokenKeepError) {
        var status = stat()
        // A missing directory needs no check, because the open of `NAME.conf` below fails without it.
        if tokenkeep_fstatat(AT_FDCWD, directory, &status, 0) == 0, status.st_mode & S_IFMT == S_IFDIR {
            try TrustedPath.check(directory)
        }
        try self.init(path: "\(directory)/\(name).conf")
    }

    /// Whether an error of open(2) means that there is no file.
    ///
    /// A directory that this process may not enter, such as a home that systemd protects, counts as having no file. A
    /// file that this process may not read counts as a file.
    private static func isAbsent(_ path: String, _ error: Int32) -> Bool {
        var status = stat()
        switch error {
        case ENOENT, ENOTDIR: return true
        case EACCES: return tokenkeep_fstatat(AT_FDCWD, path, &status, 0) != 0 && errno == EACCES
        default: return false
        }
    }

    private static func check(_ descriptor: Int32, _ path: String) throws(TokenKeepError) {
        var status = stat()
        guard tokenkeep_fstat(descriptor, &status) == 0 else { throw failure(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TokenKeepError(.invalid, "\(path): expected a regular file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenKeepError(
                .invalid, "\(path): expected a file of this user or of root, and its owner is user \(status.st_uid)")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw TokenKeepError(
                .invalid, "\(path): expected a file that only its owner may write", hint: "chmod go-w \(path)")
        }
    }

    /// Reads the whole file. Throws ``Status/invalid`` as soon as the text exceeds the maximum length, even if the file
    /// keeps growing.
    private static func bytes(of descriptor: Int32, _ path: String) throws(TokenKeepError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while bytes.count <= maximumLength {
            let count = read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk.prefix(count)
            } else if errno != EINTR {
                throw failure(path, errno)
            }
        }
        throw TokenKeepError(.invalid, "\(path): expected at most \(maximumLength) bytes")
    }

    private static func failure(_ path: String, _ error: Int32) -> TokenKeepError {
        let words = strerror(error).map { String(cString: $0) } ?? "error \(error)"
        let status: Status = error == EACCES || error == EPERM ? .denied : .io
        return TokenKeepError(status, "\(path) cannot be read: \(words)")
    }
}
