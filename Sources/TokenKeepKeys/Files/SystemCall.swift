import CSystemShims
import Glibc
package import SystemPackage
package import TokenKeepCore

/// A file descriptor that is closed when the last reference to this object is released.
package final class OwnedDescriptor: Sendable {
    package let number: Int32

    package init(_ number: Int32) { self.number = number }

    deinit { close(number) }
}

/// System calls on files, relative to open directories, with typed errors. Each call is retried after EINTR.
package enum SystemCall {
    /// Opens a file without following a symbolic link; nil if the file is missing.
    package static func open(
        _ path: String, in directory: Int32, _ flags: Int32, mode: UInt32 = 0
    ) throws(Errno) -> OwnedDescriptor? {
        // `withCString` avoids a copy: a String passed directly to C would first be copied to another buffer.
        let descriptor = path.withCString { tokenkeep_openat(directory, $0, flags | O_CLOEXEC | O_NOFOLLOW, mode) }
        if descriptor >= 0 { return OwnedDescriptor(descriptor) }
        guard errno == ENOENT else { throw Errno(rawValue: errno) }
        return nil
    }

    /// Opens a regular file without blocking; nil if the file is missing.
    ///
    /// - Throws: ``Errno/notARegularFile`` if the path names a pipe, a device, a directory or a symbolic link.
    package static func openRegular(
        _ path: String, in directory: Int32, _ flags: Int32, mode: UInt32 = 0
    ) throws(Errno) -> OwnedDescriptor? {
        do throws(Errno) {
            guard let opened = try open(path, in: directory, flags | O_NONBLOCK, mode: mode) else { return nil }
            guard try status(of: opened).isRegularFile else { throw Errno.notARegularFile }
            return opened
        } catch {
            let specialFile: [Errno] = [
                .tooManySymbolicLinkLevels, .isDirectory, .noSuchAddressOrDevice, .operationNotSupportedByDevice,
            ]
            throw specialFile.contains(error) ? .notARegularFile : error
        }
    }

    /// Opens an absolute path, and follows a symbolic link at its end; nil if the file is missing.
    package static func openFollowing(_ path: String, _ flags: Int32) throws(Errno) -> OwnedDescriptor? {
        let descriptor = tokenkeep_openat(AT_FDCWD, path, flags | O_CLOEXEC, 0)
        if descriptor >= 0 { return OwnedDescriptor(descriptor) }
        guard errno == ENOENT else { throw Errno(rawValue: errno) }
        return nil
    }

    package static func status(of descriptor: OwnedDescriptor) throws(Errno) -> FileStatus {
        var status = stat()
        try check { tokenkeep_fstat(descriptor.number, &status) }
        return FileStatus(status)
    }

    /// The metadata of the file at a path, without following a link at its end; nil if the file is missing.
    package static func status(of path: String, in directory: Int32) throws(Errno) -> FileStatus? {
        var status = stat()
        let result = path.withCString { tokenkeep_fstatat(directory, $0, &status, AT_SYMLINK_NOFOLLOW) }
        if result == 0 { return FileStatus(status) }
        guard errno == ENOENT || errno == ENOTDIR else { throw Errno(rawValue: errno) }
        return nil
    }

    /// Writes all bytes to a file.
    package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: OwnedDescriptor) throws(Errno) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let written = tokenkeep_write(descriptor.number, rest.baseAddress, rest.count, -1)
            guard written > 0 else { throw written < 0 ? Errno(rawValue: errno) : .ioError }
            done += written
        }
    }

    /// Locks an open file until the file is closed, without waiting; false if another process has locked the file.
    package static func lockWhileOpen(_ descriptor: OwnedDescriptor) -> Bool {
        flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
    }

    /// Truncates a file to length 0.
    package static func empty(_ descriptor: OwnedDescriptor) throws(Errno) {
        try check { ftruncate(descriptor.number, 0) }
    }

    /// Reads up to `bytes.count` bytes from `offset` on; fewer if the file ends earlier.
    package static func read(
        _ descriptor: OwnedDescriptor, from offset: Int64 = 0, into bytes: UnsafeMutableRawBufferPointer
    ) throws(Errno) -> Int {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
            let count = pread(descriptor.number, rest.baseAddress, rest.count, off_t(offset) + done)
            if count > 0 {
                done += count
            } else if count == 0 {
                break
            } else if errno != EINTR {
                throw Errno(rawValue: errno)
            }
        }
        return done
    }

    /// Reads an integer at `offset`. Returns the number of bytes read.
    package static func read(
        _ descriptor: OwnedDescriptor, from offset: Int64, into integer: inout UInt64
    ) throws(Errno) -> Int {
        let outcome: Result<Int, Errno> = withUnsafeMutableBytes(of: &integer) { bytes in
            do throws(Errno) {
                return .success(try read(descriptor, from: offset, into: bytes))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Reads up to `maximum` bytes of a file, from `offset` on.
    package static func bytes(
        of descriptor: OwnedDescriptor, from offset: Int64 = 0, atMost maximum: Int
    ) throws(Errno) -> [UInt8] {
        // All empty arrays share one storage, so the initializer below must not write into an empty array.
        guard maximum > 0 else { return [] }
        var failure: Errno?
        let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { bytes, count in
            do throws(Errno) {
                count = try read(descriptor, from: offset, into: UnsafeMutableRawBufferPointer(bytes))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package static func syncData(of descriptor: OwnedDescriptor) throws(Errno) {
        try check { fdatasync(descriptor.number) }
    }

    package static func sync(_ descriptor: OwnedDescriptor) throws(Errno) {
        try check { fsync(descriptor.number) }
    }

    package static func rename(_ old: String, to new: String, in directory: OwnedDescriptor) throws(Errno) {
        try check { renameat(directory.number, old, directory.number, new) }
    }

    package static func link(_ old: String, as new: String, in directory: OwnedDescriptor) throws(Errno) {
        try check { linkat(directory.number, old, directory.number, new, 0) }
    }

    /// The target of a symbolic link; nil if the link is missing.
    ///
    /// - Throws: ``Errno/invalidArgument`` if the path is not a link.
    package static func target(of path: String, in directory: Int32) throws(Errno) -> String? {
        var bytes = [CChar](repeating: 0, count: 256)
        var count = 0
        repeat { count = readlinkat(directory, path, &bytes, bytes.count) } while count < 0 && errno == EINTR
        guard count >= 0 else {
            guard errno == ENOENT else { throw Errno(rawValue: errno) }
            return nil
        }
        return String(validating: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) ?? ""
    }

    package static func symbolicLink(
        to target: String, as path: String, in directory: OwnedDescriptor
    ) throws(Errno) {
        try check { symlinkat(target, directory.number, path) }
    }

    /// Removes an empty directory; false if the directory was missing.
    package static func removeDirectory(_ path: String, in directory: OwnedDescriptor) throws(Errno) -> Bool {
        do throws(Errno) {
            try check { unlinkat(directory.number, path, AT_REMOVEDIR) }
            return true
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return false
        }
    }

    /// Makes all earlier writes durable on the file system that contains the directory.
    package static func syncFileSystem(of directory: OwnedDescriptor) throws(Errno) {
        try check { tokenkeep_syncfs(directory.number) }
    }

    /// Makes a hard link to a file, with the same name in another directory.
    package static func link(
        _ name: String, from: OwnedDescriptor, to: OwnedDescriptor
    ) throws(Errno) {
        try check { linkat(from.number, name, to.number, name, 0) }
    }

    /// Removes a file; false if the file was missing.
    package static func remove(_ path: String, in directory: OwnedDescriptor) throws(Errno) -> Bool {
        do throws(Errno) {
            try check { unlinkat(directory.number, path, 0) }
            return true
        } catch {
            guard error == .noSuchFileOrDirectory else { throw error }
            return false
        }
    }

    /// Changes the permissions of a file or directory.
    package static func changeMode(of path: String, to mode: UInt32) throws(Errno) { try check { chmod(path, mode) } }

    /// Makes a directory that only its user can access; false if the name exists.
    package static func makeDirectory(_ path: String, in directory: Int32) throws(Errno) -> Bool {
        do throws(Errno) {
            try check { tokenkeep_mkdirat(directory, path) }
            return true
        } catch {
            guard error == .fileExists else { throw error }
            return false
        }
    }

    private static func check(_ call: () -> Int32) throws(Errno) {
        while call() != 0 {
            guard errno == EINTR else { throw Errno(rawValue: errno) }
        }
    }
}

extension Errno {
    /// The error number for a file of the vault that is not a regular file.
    ///
    /// `tokenkeep_lock_acquire` and `tokenkeep_lock_try` return the same error number.
    package static let notARegularFile = Errno(rawValue: EBADFD)

    /// The error that a caller of the store gets for this error number.
    ///
    /// - Parameter action: the failed action, for example `cannot write records/…`.
    package func error(_ action: String) -> TokenKeepError {
        switch self {
        case .permissionDenied, .notPermitted:
            TokenKeepError(.denied, "\(action): \(self)", module: "vault", hint: "check who owns the vault's directory")
        case .noSpace, .diskQuotaExceeded:
            TokenKeepError(.io, "\(action): \(self)", module: "vault", hint: "make room on the disk")
        case .readOnlyFileSystem:
            TokenKeepError(.io, "\(action): \(self)", module: "vault", hint: "set TOKENKEEP_VAULT to a writable place")
        case .notARegularFile:
            TokenKeepError(
                .corrupt, "\(action): it is not a regular file", module: "vault",
                hint: "move it away: the next save makes a new one")
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory:
            .shortage("\(action): \(self)", module: "vault", hint: "end some programs, or raise the limit (ulimit -a)")
        default: TokenKeepError(.io, "\(action): \(self)", module: "vault")
        }
    }
}
