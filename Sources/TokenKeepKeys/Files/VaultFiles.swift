import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// Reads whole files of the vault, and replaces them durably.
package enum VaultFiles {
    /// Reads a regular file; nil if the file is missing.
    ///
    /// - Parameter name: the file's path, relative to `directory`.
    /// - Throws: ``Status/corrupt`` if the file is not regular, or is longer than `maximum` bytes.
    package static func read(
        _ name: String, in directory: OwnedDescriptor, atMost maximum: Int
    ) throws(TokenKeepError) -> [UInt8]? {
        guard let (file, size) = try open(name, in: directory) else { return nil }
        guard size <= maximum else { throw FormatFault.malformed("it is too long").error(in: name) }
        return try bytes(of: file, atMost: size, name)
    }

    /// Reads a regular file that begins with a signature and a version; nil if the file is missing.
    ///
    /// Returns at most `maximum + 1` bytes. The first bytes of a longer file still show whether a later version wrote it.
    package static func readVersioned(
        _ name: String, in directory: OwnedDescriptor, atMost maximum: Int
    ) throws(TokenKeepError) -> [UInt8]? {
        guard let (file, size) = try open(name, in: directory) else { return nil }
        return try bytes(of: file, atMost: min(size, maximum + 1), name)
    }

    private static func bytes(
        of file: OwnedDescriptor, atMost count: Int, _ name: String
    ) throws(TokenKeepError) -> [UInt8] {
        do throws(Errno) {
            return try SystemCall.bytes(of: file, atMost: count)
        } catch {
            throw error.error("cannot read \(name)")
        }
    }

    /// Reads a file as ``readVersioned(_:in:atMost:)`` does, into guarded memory.
    package static func readVersionedSecret(
        _ name: String, in directory: OwnedDescriptor, atMost maximum: Int
    ) throws(TokenKeepError) -> SecretBytes? {
        guard let (file, size) = try open(name, in: directory) else { return nil }
        return try SecretBytes(count: min(size, maximum + 1)) { bytes throws(TokenKeepError) in
            do throws(Errno) {
                // If the file becomes shorter meanwhile, the missing bytes stay zero, so that the later check of the
                // checksum fails.
                _ = try SystemCall.read(file, into: bytes)
            } catch {
                throw error.error("cannot read \(name)")
            }
        }
    }

    private static func open(
        _ name: String, in directory: OwnedDescriptor
    ) throws(TokenKeepError) -> (file: OwnedDescriptor, size: Int)? {
        do throws(Errno) {
            // O_NONBLOCK keeps the open from blocking if another program put a pipe in the place of the file.
            guard let file = try SystemCall.open(name, in: directory.number, O_RDONLY | O_NONBLOCK) else { return nil }
            let status = try SystemCall.status(of: file)
            if status.isRegularFile { return (file, status.size) }
        } catch {
            guard error == .tooManySymbolicLinkLevels else { throw error.error("cannot read \(name)") }
        }
        throw FormatFault.malformed("it is not a regular file").error(in: name)
    }

    /// Whether the directory has an entry `name`, of any type.
    package static func exists(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) -> Bool {
        do throws(Errno) {
            return try SystemCall.status(of: name, in: directory.number) != nil
        } catch {
            throw error.error("cannot inspect \(name)")
        }
    }

    /// Makes a new temporary file. A file of the same name, which a crashed process left, is removed first.
    private static func makeTemporary(_ name: String, in directory: OwnedDescriptor) throws(Errno) -> OwnedDescriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK
        do throws(Errno) {
            if let file = try SystemCall.open(name, in: directory.number, flags, mode: 0o600) { return file }
        } catch {
            guard error == .fileExists else { throw error }
            _ = try SystemCall.remove(name, in: directory)
            if let file = try SystemCall.open(name, in: directory.number, flags, mode: 0o600) { return file }
        }
        throw .noSuchFileOrDirectory
    }

    /// The content of a replaced file after a loss of power.
    package enum Durability {
        /// The new file.
        case durable
        /// The old or the new file, whole.
        case whole
        /// Undefined. For a file that a later sync makes durable.
        case none
    }

    /// Replaces a file by a rename, so that a reader sees either the old or the new content.
    ///
    /// - Parameter durability: the content of the file after a loss of power.
    package static func replace(
        _ name: String, in directory: OwnedDescriptor, with bytes: UnsafeRawBufferPointer,
        _ durability: Durability = .durable
    ) throws(TokenKeepError) {
        let temporary = name + ".tmp"
        do throws(Errno) {
            let file = try makeTemporary(temporary, in: directory)
            try SystemCall.write(bytes, to: file)
            if durability != .none { try SystemCall.syncData(of: file) }
            try SystemCall.rename(temporary, to: name, in: directory)
        } catch {
            _ = try? SystemCall.remove(temporary, in: directory)
            throw error.error("cannot write \(name)")
        }
        if durability == .durable { try sync(directory, after: "writing \(name)") }
    }

    /// Durably removes a file, and the temporary file that an interrupted write may have left.
    ///
    /// If the file is missing, the directory is synced nevertheless, because an earlier removal may not have been
    /// durable.
    package static func remove(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) {
        do throws(Errno) {
            _ = try SystemCall.remove(name + ".tmp", in: directory)
            _ = try SystemCall.remove(name, in: directory)
        } catch {
            throw error.error("cannot remove \(name)")
        }
        try sync(directory, after: "removing \(name)")
    }

    /// The highest N in the names `….corrupt-N` of unreadable files. See ``setAside(_:in:)``.
    package static let maximumSetAside = 1000

    /// Counts the unreadable files that were set aside in a directory.
    package static func countSetAside(in directory: OwnedDescriptor) throws(TokenKeepError) -> Int {
        try names(in: directory).count { $0.split(separator: ".").last?.hasPrefix("corrupt-") == true }
    }

    /// Durably gives an unreadable file the second name `….corrupt-N`.
    ///
    /// A new file can then take the first name, and the unreadable file stays under the second name.
    package static func setAside(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) {
        for number in 1...maximumSetAside {
            do throws(Errno) {
                try SystemCall.link(name, as: "\(name).corrupt-\(number)", in: directory)
            } catch {
                if error == .fileExists { continue }
                if error == .notPermitted { throw FormatFault.malformed("it is not a regular file").error(in: name) }
                throw error.error("cannot set \(name) aside")
            }
            return try sync(directory, after: "setting \(name) aside")
        }
        throw TokenKeepError(
            .io, "\(maximumSetAside) damaged copies of \(name) are set aside", module: "vault",
            hint: "remove some of them")
    }

    /// Makes a change of a directory's entries (a new, renamed or removed file) durable.
    ///
    /// - Throws: ``Status/io`` if the directory cannot be synced. The change is made, but a loss of power may undo it.
    package static func sync(_ directory: OwnedDescriptor, after action: String) throws(TokenKeepError) {
        do throws(Errno) {
            try SystemCall.sync(directory)
        } catch {
            throw TokenKeepError(
                .io, "cannot make the directory durable after \(action): \(error)", module: "vault",
                hint: "the change is made; a loss of power may undo it")
        }
    }

    /// The names in a directory, unsorted. A name that is not UTF-8 is skipped, because the vault makes no such name.
    package static func names(in directory: OwnedDescriptor) throws(TokenKeepError) -> [String] {
        var names: [String] = []
        try forEachName(in: directory) { name in
            names.append(name)
            return true
        }
        return names
    }

    /// Calls `body` with each name in a directory, until `body` returns false.
    package static func forEachName(in directory: OwnedDescriptor, _ body: (String) -> Bool) throws(TokenKeepError) {
        try forEachEntry(in: directory) { name, _ in
            guard let name = String(validatingCString: name), name != ".", name != ".." else { return true }
            return body(name)
        }
    }

    /// Calls `body` with the name and the inode number of each entry in a directory, until `body` returns false.
    package static func forEachEntry(
        in directory: OwnedDescriptor, _ body: (_ name: UnsafePointer<CChar>, _ inode: UInt64) -> Bool
    ) throws(TokenKeepError) {
        // A directory stream moves the offset of its descriptor and closes the descriptor, so the stream gets its own
        // descriptor.
        let own = tokenkeep_openat(directory.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard own >= 0 else {
            if errno == ENOENT { return }
            throw Errno(rawValue: errno).error("cannot list the vault")
        }
        var opened = fdopendir(own)
        while opened == nil, errno == EINTR { opened = fdopendir(own) }
        guard let stream = opened else {
            let error = Errno(rawValue: errno)
            close(own)
            throw error.error("cannot list the vault")
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno == EINTR { continue }
                break
            }
            let inode = UInt64(entry.pointee.d_ino)
            let goesOn = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { body($0, inode) }
            }
            if !goesOn { return }
        }
        // ENOENT: the directory was removed while it was open, because the vault's keys were replaced. A removed
        // directory lists no names.
        guard errno == 0 || errno == ENOENT else { throw Errno(rawValue: errno).error("cannot list the vault") }
    }
}
