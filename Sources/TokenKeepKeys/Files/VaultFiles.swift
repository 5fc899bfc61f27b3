import CSystemShims
import Glibc
import SystemPackage
package import TokenKeepCore

/// Reads and durably replaces whole files of the vault.
package enum VaultFiles {
    /// The bytes of a regular file; nil where there is none.
    ///
    /// - Parameter name: the path from `directory`.
    /// - Throws: ``Status/corrupt`` where it is no regular file or longer than `maximum`.
    package static func read(
        _ name: String, in directory: OwnedDescriptor, atMost maximum: Int
    ) throws(TokenKeepError) -> [UInt8]? {
        guard let (file, size) = try open(name, in: directory) else { return nil }
        guard size <= maximum else { throw FormatFault.malformed("it is too long").error(in: name) }
        return try bytes(of: file, atMost: size, name)
    }

    /// The bytes of a regular file that begins with a signature and a version; nil where there is none.
    ///
    /// Of one that is longer than `maximum` one byte more: it may be of a later version, which its reader is to tell from
    /// one that is too long.
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

    /// The same as ``readVersioned(_:in:atMost:)``, into guarded memory.
    package static func readVersionedSecret(
        _ name: String, in directory: OwnedDescriptor, atMost maximum: Int
    ) throws(TokenKeepError) -> SecretBytes? {
        guard let (file, size) = try open(name, in: directory) else { return nil }
        return try SecretBytes(count: min(size, maximum + 1)) { bytes throws(TokenKeepError) in
            do throws(Errno) {
                // A file that shrank meanwhile leaves zeros, which its checksum finds.
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
            // O_NONBLOCK: opening a pipe that somebody put here must not wait for its writer.
            guard let file = try SystemCall.open(name, in: directory.number, O_RDONLY | O_NONBLOCK) else { return nil }
            let status = try SystemCall.status(of: file)
            if status.isRegularFile { return (file, status.size) }
        } catch {
            guard error == .tooManySymbolicLinkLevels else { throw error.error("cannot read \(name)") }
        }
        throw FormatFault.malformed("it is not a regular file").error(in: name)
    }

    /// Whether there is a file, or anything else, of this name.
    package static func exists(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) -> Bool {
        do throws(Errno) {
            return try SystemCall.status(of: name, in: directory.number) != nil
        } catch {
            throw error.error("cannot inspect \(name)")
        }
    }

    /// Makes a file of its own. What a crash left is not written into: it may be anything, of any mode.
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

    /// Writes a file beside, makes it durable, and renames it over `name`: a reader sees the old or the new one, whole.
    ///
    /// - Parameter isDurable: whether it survives a loss of power before this returns.
    package static func replace(
        _ name: String, in directory: OwnedDescriptor, with bytes: UnsafeRawBufferPointer, isDurable: Bool = true
    ) throws(TokenKeepError) {
        let temporary = name + ".tmp"
        do throws(Errno) {
            let file = try makeTemporary(temporary, in: directory)
            try SystemCall.write(bytes, to: file)
            if isDurable { try SystemCall.syncData(of: file) }
            try SystemCall.rename(temporary, to: name, in: directory)
        } catch {
            _ = try? SystemCall.remove(temporary, in: directory)
            throw error.error("cannot write \(name)")
        }
        if isDurable { try sync(directory, after: "writing \(name)") }
    }

    /// Removes a file durably, with what an unfinished write of it left.
    ///
    /// Where there is none the directory is synced all the same: an earlier removal may not have been.
    package static func remove(_ name: String, in directory: OwnedDescriptor) throws(TokenKeepError) {
        do throws(Errno) {
            _ = try SystemCall.remove(name + ".tmp", in: directory)
            _ = try SystemCall.remove(name, in: directory)
        } catch {
            throw error.error("cannot remove \(name)")
        }
        try sync(directory, after: "removing \(name)")
    }

    /// The highest N of the names `….corrupt-N` that ``setAside(_:in:)`` gives.
    package static let maximumSetAside = 1000

    /// Gives a file that cannot be read a second name, durably, so that its first may be used again.
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

    /// Makes what happened to a directory's entries durable.
    package static func sync(_ directory: OwnedDescriptor, after action: String) throws(TokenKeepError) {
        do throws(Errno) {
            try SystemCall.sync(directory)
        } catch {
            throw error.error("cannot make the directory durable after \(action)")
        }
    }

    /// The names in a directory, in its order; a name that is not UTF-8 is none of ours.
    package static func names(in directory: OwnedDescriptor) throws(TokenKeepError) -> [String] {
        var names: [String] = []
        try forEachName(in: directory) { name in
            names.append(name)
            return true
        }
        return names
    }

    /// The same, one by one, until `body` says that it has seen enough.
    package static func forEachName(in directory: OwnedDescriptor, _ body: (String) -> Bool) throws(TokenKeepError) {
        // A directory stream owns its descriptor and moves its offset: it gets one of its own.
        let own = tokenkeep_openat(directory.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard own >= 0 else {
            if errno == ENOENT { return }
            throw Errno(rawValue: errno).error("cannot list the vault")
        }
        guard let stream = fdopendir(own) else {
            let error = Errno(rawValue: errno)
            close(own)
            throw error.error("cannot list the vault")
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name, name != ".", name != "..", !body(name) { return }
        }
        // A directory that was removed since it was opened has no names; its era is not in force any more.
        guard errno == 0 || errno == ENOENT else { throw Errno(rawValue: errno).error("cannot list the vault") }
    }
}
