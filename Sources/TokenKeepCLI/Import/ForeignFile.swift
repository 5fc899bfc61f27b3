import Glibc
import TokenKeepCore
import TokenKeepTerminal

/// A file of another program, which is read as a whole and replaced in one step, or a pipe, which is only read.
struct ForeignFile {
    /// The maximum length of a file, in bytes.
    private static let longest = 16 << 20
    /// The path that stands for standard input.
    static let standardInput = "-"

    /// The path without symbolic links, so that the file itself is replaced and not a link to it. If nothing is to be
    /// removed, the path for messages.
    private let path: String
    /// Whether the source is a pipe or a socket, from which nothing can be removed.
    let isPipe: Bool
    private let status: stat
    let content: SecretBytes

    /// Reads a file, or a pipe to its end. The path `-` is standard input.
    ///
    /// - Parameters:
    ///   - isToBeCut: whether entries are removed from the file afterwards.
    ///   - deadline: ends the wait for the writer of a pipe.
    /// - Throws: ``Status/invalid`` if there is no such file, the path is no file, or entries are to be removed from a pipe
    ///   or from a standard input of which another program has read a part;
    ///   ``Status/timedOut`` if nothing is written into the pipe; ``Status/io`` if the system fails.
    init(_ path: String, isToBeCut: Bool, until deadline: Deadline) throws(TokenKeepError) {
        let isInput = path == ForeignFile.standardInput
        let path = isInput ? "standard input" : path
        let descriptor = isInput ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : SecretInput.open(path)
        guard descriptor >= 0 else { throw ForeignFile.failure("opened", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw ForeignFile.failure("opened", path) }
        self.status = status
        isPipe = [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
        guard !isPipe else {
            guard !isToBeCut else {
                throw TokenKeepError(
                    .invalid, "\(path) is a pipe, from which nothing can be removed", hint: "leave out --remove")
            }
            self.path = path
            content = try SecretInput.readToEnd(
                of: descriptor, named: path, atMost: ForeignFile.longest, tooLong: ForeignFile.tooLong(path),
                until: deadline)
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw TokenKeepError(.invalid, "\(path) is no file") }
        self.path = isToBeCut ? try ForeignFile.placeToCut(path, isInput, descriptor) : path
        guard status.st_size <= ForeignFile.longest else { throw ForeignFile.tooLong(path) }
        content = try SecretBytes(capacity: Int(status.st_size)) { buffer throws(TokenKeepError) in
            var count = 0
            while count < buffer.count {
                let got = Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
                guard got >= 0 || errno == EINTR else { throw ForeignFile.failure("read", path) }
                guard got != 0 else { break }
                count += max(0, got)
            }
            return count
        }
    }

    /// The path of a file from which entries are removed.
    private static func placeToCut(
        _ path: String, _ isInput: Bool, _ descriptor: Int32
    ) throws(TokenKeepError) -> String {
        // The file that replaces this one has only what was read.
        guard !isInput || lseek(descriptor, 0, SEEK_CUR) == 0 else {
            throw TokenKeepError(
                .invalid, "a part of standard input was read before, and nothing can be removed from the rest",
                hint: "name the file, or leave out --remove")
        }
        guard let real = realpath(isInput ? "/dev/stdin" : path, nil) else { throw failure("opened", path) }
        defer { free(real) }
        return String(cString: real)
    }

    private static func tooLong(_ path: String) -> TokenKeepError {
        TokenKeepError(.invalid, "\(path) is longer than 16 MiB")
    }

    /// Replaces the file by a copy without these ranges of bytes. The copy has the same mode and owner.
    ///
    /// If the program is killed, the path names either the old file or the new file.
    ///
    /// - Throws: ``Status/conflict`` if another program changed the file meanwhile, ``Status/io`` if the system fails.
    func cut(_ holes: [Range<Int>]) throws(TokenKeepError) {
        let folder = path.lastIndex(of: "/").map { path[..<$0] } ?? "."
        let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
        let temporary = "\(folder)/.\(name).tokenkeep"
        let descriptor = SettingsFile.removeLeft(temporary) ? SettingsFile.makeTemporary(temporary) : -1
        guard descriptor >= 0 else {
            guard errno == EEXIST || errno == EWOULDBLOCK else { throw ForeignFile.failure("written", temporary) }
            throw TokenKeepError(.conflict, "another import removes entries of \(path)", hint: "run it again")
        }
        defer { close(descriptor) }
        do throws(TokenKeepError) {
            try write(holes, to: descriptor)
            guard fchown(descriptor, status.st_uid, status.st_gid) == 0 || status.st_uid == geteuid(),
                fchmod(descriptor, status.st_mode & 0o7777) == 0, fsync(descriptor) == 0
            else { throw ForeignFile.failure("written", temporary) }
            try checkUnchanged()
            guard rename(temporary, path) == 0 else { throw ForeignFile.failure("replaced", path) }
        } catch {
            unlink(temporary)
            throw error
        }
        let directory = open(String(folder.isEmpty ? "/" : folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        fsync(directory)
        close(directory)
    }

    private func write(_ holes: [Range<Int>], to descriptor: Int32) throws(TokenKeepError) {
        let error = content.withUnsafeBytes { bytes -> Int32 in
            var start = 0
            for hole in holes + [bytes.count..<bytes.count] where hole.lowerBound >= start {
                let kept = UnsafeRawBufferPointer(rebasing: bytes[start..<hole.lowerBound])
                let error = Terminal.writeAll(kept, to: descriptor)
                guard error == 0 else { return error }
                start = hole.upperBound
            }
            return 0
        }
        guard error == 0 else {
            errno = error
            throw ForeignFile.failure("written", path)
        }
    }

    private func checkUnchanged() throws(TokenKeepError) {
        guard ForeignFile.isSame(status, ForeignFile.status(of: path)) else { throw ForeignFile.changed(path) }
    }

    /// The metadata of a file (stat(2)); nil if it cannot be read.
    static func status(of path: String) -> stat? {
        var status = stat()
        return stat(path, &status) == 0 ? status : nil
    }

    /// Whether both are the metadata of one file that was not changed in between.
    static func isSame(_ before: stat?, _ now: stat?) -> Bool {
        guard let before, let now else { return false }
        return now.st_ino == before.st_ino && now.st_dev == before.st_dev && now.st_size == before.st_size
            && now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec
    }

    static func changed(_ path: String) -> TokenKeepError {
        TokenKeepError(
            .conflict, "\(path) was changed while its entries were imported", hint: "run the import again")
    }

    private static func failure(_ verb: String, _ path: String) -> TokenKeepError {
        let error = errno
        return TokenKeepError(
            .ofNamedFile(errno: error), "\(path) cannot be \(verb): \(Terminal.describe(errno: error))")
    }
}
