import Glibc
import TokenKeepCore

/// Writes small text files of the user atomically, by a rename. Creates missing folders.
enum FileReplacement {
    /// Replaces a file and keeps its mode. If the path is a symbolic link, the link's target is replaced.
    static func write(_ text: String, to given: String) throws(TokenKeepError) {
        let path = target(of: given)
        try OwnedPlace.check(path)
        try makeFolder(String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)))
        var status = stat()
        let mode = stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o644
        let temporary = "\(path).\(getpid())"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { throw failure(temporary) }
        defer { close(file) }
        let bytes = Array(text.utf8)
        let written = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        guard written == bytes.count, fsync(file) == 0, rename(temporary, path) == 0 else {
            let failure = failure(path)
            unlink(temporary)
            throw failure
        }
    }

    private static func target(of path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private static func makeFolder(_ path: String) throws(TokenKeepError) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o700) == 0 || errno == EEXIST else { throw failure(made) }
        }
    }

    static func failure(_ path: String) -> TokenKeepError {
        TokenKeepError(.io, "cannot write \(path): \(Bus.describe(errno))")
    }
}
