import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// A file with settings of another program, which is read and replaced as a whole.
struct SettingsFile {
    /// The maximum length of a file, in bytes.
    static let longest = 1 << 20
    /// The maximum number of symbolic links that are followed, as in Linux.
    private static let mostLinks = 40

    /// The path by which the other program names the file.
    let path: String
    /// The text; nil if the file is missing.
    let text: String?

    /// Reads the file.
    ///
    /// - Throws: ``Status/invalid`` if the file is too long or not UTF-8, ``Status/denied`` if a user other than root owns
    ///   it, ``Status/io`` if it cannot be read.
    init(_ path: String) throws(TokenKeepError) {
        self.path = path
        text = try SettingsFile.read(path)
    }

    /// Reads the file of a tool that is being set up, and removes the temporary file that a killed setup left beside
    /// it.
    static func forChange(_ path: String) throws(TokenKeepError) -> SettingsFile {
        _ = removeLeft(temporary(of: resolved(path)))
        return try SettingsFile(path)
    }

    /// Removes the temporary file that a killed process left.
    ///
    /// - Returns: false if the file stays, because a running process has locked it.
    static func removeLeft(_ temporary: String) -> Bool {
        let descriptor = open(temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            // A running process's file can be opened until its last steps.
            if errno == EACCES || errno == ELOOP { unlink(temporary) }
            return true
        }
        defer { close(descriptor) }
        guard lock(descriptor) else { return false }
        if isAt(temporary, descriptor) { unlink(temporary) }
        return true
    }

    /// Makes a temporary file, and locks it. The lock shows other processes that the file was not left by a killed one.
    ///
    /// - Returns: the descriptor; -1, and `errno`, if the system fails or another process uses the file (`EEXIST`).
    static func makeTemporary(_ temporary: String) -> Int32 {
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0, !lock(descriptor) || !isAt(temporary, descriptor) else { return descriptor }
        close(descriptor)
        errno = EEXIST
        return -1
    }

    /// Splits a text into its lines, without their line feeds. A carriage return before a line feed stays.
    ///
    /// Splits by bytes, because in Swift CR LF is a single Character, which differs from LF.
    static func lines(of text: String) -> [Substring] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// Replaces the text of the file, or removes the file if `new` is nil. A crash leaves the old text or the new text.
    ///
    /// - Throws: ``Status/conflict`` if the file changed since it was read; ``Status/denied`` if it is read-only or root's;
    ///   ``Status/io`` if it cannot be written.
    func replace(with new: String?) throws(TokenKeepError) {
        guard try SettingsFile.read(path) == text else {
            throw TokenKeepError(.conflict, "\(path) changed meanwhile", hint: "run it again")
        }
        // If the path is a symbolic link, the link stays and its target is replaced.
        let target = SettingsFile.resolved(path)
        try SettingsFile.checkWritable(target, named: path)
        guard let new else {
            guard unlink(target) == 0 || errno == ENOENT else { throw SettingsFile.failure("removed", path) }
            return
        }
        try OwnedPlace.check(target)
        try SettingsFile.makeFolder(of: target)
        try SettingsFile.write(new, to: target, named: path)
    }

    /// Throws if the file's owner did not mean it to be changed: a rename would replace such a file nevertheless.
    private static func checkWritable(_ target: String, named path: String) throws(TokenKeepError) {
        var status = stat()
        guard stat(target, &status) == 0 else { return }
        guard status.st_uid == geteuid() else {
            throw TokenKeepError(.denied, "\(path) belongs to user \(status.st_uid)", hint: managed)
        }
        guard status.st_mode & 0o200 != 0 else {
            let place = target == path ? "" : ", and is the link to \(target)"
            throw TokenKeepError(
                .denied, "\(path) is read-only\(place)", hint: "chmod u+w \(ShellWord.quoted(target)), or \(managed)")
        }
    }

    /// The advice for a file that another program manages, such as Home Manager.
    private static let managed = "change these lines with the program that manages the file"

    private static func resolved(_ path: String) -> String {
        if let target = realpath(path, nil) {
            defer { free(target) }
            return String(cString: target)
        }
        // The last link may lead to a file that does not exist yet, for which realpath fails.
        var file = path
        for _ in 0..<mostLinks {
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = readlink(file, &bytes, bytes.count)
            guard length > 0, length < bytes.count else { break }
            let target = String(decoding: bytes[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
            let folder = file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
            file = target.hasPrefix("/") ? target : folder + target
        }
        return file
    }

    private static func read(_ path: String) throws(TokenKeepError) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw failure("read", path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw TokenKeepError(.invalid, "\(path) is not a file")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            throw TokenKeepError(.denied, "\(path) belongs to user \(status.st_uid)")
        }
        let tooLong = TokenKeepError(.invalid, "\(path) is longer than \(longest) bytes")
        let bytes = try SecretInput.readToEnd(of: descriptor, named: path, tooLong: tooLong)
        guard let text = bytes.utf8String else { throw TokenKeepError(.invalid, "\(path) is not UTF-8") }
        return text
    }

    private static func makeFolder(of path: String) throws(TokenKeepError) {
        let parts = path.split(separator: "/" as Character).dropLast()
        var folder = path.hasPrefix("/") ? "" : "."
        for part in parts {
            folder += "/\(part)"
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST || access(folder, X_OK) == 0 else {
                throw failure("written", path)
            }
        }
    }

    /// Returns the path of the temporary file that gets the new text and then replaces the target. The name is fixed,
    /// so that the next setup finds the file that a killed setup left.
    private static func temporary(of target: String) -> String {
        let name = target.split(separator: "/" as Character).last.map(String.init) ?? ""
        return "\(target.dropLast(name.count)).\(name).tokenkeep"
    }

    /// Locks an open file. Returns false if another process has the lock, and true if the file system does not support
    /// locks.
    private static func lock(_ descriptor: Int32) -> Bool {
        flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    private static func busy(_ path: String) -> TokenKeepError {
        TokenKeepError(.conflict, "another setup writes \(path)", hint: "run it again")
    }

    /// Whether the path still names the open file.
    private static func isAt(_ path: String, _ descriptor: Int32) -> Bool {
        var (named, opened) = (stat(), stat())
        return lstat(path, &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_ino == opened.st_ino
            && named.st_dev == opened.st_dev
    }

    private static func write(_ text: String, to target: String, named path: String) throws(TokenKeepError) {
        var status = stat()
        let mode = stat(target, &status) == 0 ? status.st_mode & 0o777 : 0o600
        let temporary = temporary(of: target)
        let descriptor = makeTemporary(temporary)
        guard descriptor >= 0 else {
            throw errno == EEXIST ? busy(path) : failure("written", path)
        }
        defer { close(descriptor) }
        var text = text
        let error = text.withUTF8 { Terminal.writeAll(UnsafeRawBufferPointer($0), to: descriptor) }
        guard error == 0, fchmod(descriptor, mode) == 0, fsync(descriptor) == 0, rename(temporary, target) == 0 else {
            if error != 0 { errno = error }
            let failure = failure("written", path)
            unlink(temporary)
            throw failure
        }
    }

    /// Makes the error for the current value of errno.
    static func failure(_ verb: String, _ path: String) -> TokenKeepError {
        let number = errno
        let isForbidden = verb != "read" && [EACCES, EPERM, EROFS].contains(number)
        return TokenKeepError(
            .ofNamedFile(errno: number), "\(path) cannot be \(verb): \(Terminal.describe(errno: number))",
            hint: isForbidden ? managed : nil)
    }
}
