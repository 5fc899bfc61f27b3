import Glibc
import SystemPackage
package import TokenKeepCore

/// The machine key: 32 random bytes in a file that root owns and every user may read (docs/device.md).
///
/// A copy of a home does not open on another machine, because the copy lacks the key. A copy of the whole disk contains
/// the key.
package struct MachineKey: Sendable {
    /// The path of the machine's key.
    package static let standardPath = "/var/lib/tokenkeep/machine-key"
    private static let length = 32

    /// The secret that device slots use, derived from the key.
    let secret: SecretBytes
    /// The key's public name, which reveals nothing about the key.
    let name: [UInt8]

    private init(_ key: SecretBytes) throws(TokenKeepError) {
        secret = try Subkey.derive(from: key, number: 1, context: "TKmachin")
        name = try Subkey.derive(from: key, number: 2, context: "TKmachin").withUnsafeBytes { Array($0) }
    }

    /// Reads the machine key from the file at `path`.
    ///
    /// - Throws: a fault if the file is missing, is not owned by root, can be replaced or written by others, or is not
    ///   a regular file of 32 bytes.
    static func read(_ path: String) throws(DeviceFault) -> MachineKey {
        do throws(TokenKeepError) {
            try TrustedPath.check(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), user: nil)
            return try MachineKey(try key(in: try open(path), path))
        } catch {
            throw DeviceFault(error.status == .notFound ? .absent : .other, error.message)
        }
    }

    private static func open(_ path: String) throws(TokenKeepError) -> OwnedDescriptor {
        let opened: OwnedDescriptor?
        do throws(Errno) {
            opened = try SystemCall.openRegular(path, in: AT_FDCWD, O_RDONLY)
        } catch {
            guard error != .notARegularFile else {
                throw TokenKeepError(.corrupt, "the machine key \(path) is not a regular file")
            }
            throw unreadable(path, error)
        }
        guard let opened else { throw TokenKeepError(.notFound, "this machine has no machine key (\(path))") }
        return opened
    }

    private static func key(in file: OwnedDescriptor, _ path: String) throws(TokenKeepError) -> SecretBytes {
        let status: FileStatus
        do throws(Errno) {
            status = try SystemCall.status(of: file)
        } catch {
            throw unreadable(path, error)
        }
        guard status.owner == 0 else {
            throw TokenKeepError(.denied, "the machine key \(path) belongs to user \(status.owner), not to root")
        }
        guard status.permissions & 0o222 == 0 else {
            throw TokenKeepError(.denied, "the machine key \(path) can be written (mode other than 0444)")
        }
        let key = try SecretBytes(capacity: length) { bytes throws(TokenKeepError) in
            guard status.size == length else { return 0 }
            return (try? SystemCall.read(file, into: bytes)) ?? 0
        }
        guard key.count == length else {
            throw TokenKeepError(.corrupt, "the machine key \(path) has not \(length) bytes")
        }
        return key
    }

    private static func unreadable(_ path: String, _ error: Errno) -> TokenKeepError {
        TokenKeepError(.io, "cannot read the machine key \(path): \(error)")
    }

    // MARK: Making

    /// Makes this machine's key. Requires root's rights.
    ///
    /// - Returns: false if a file with this name exists already. That file is not changed.
    /// - Throws: ``Status/denied`` without root's rights, ``Status/io`` if the file cannot be made.
    package static func make(at path: String = standardPath) throws(TokenKeepError) -> Bool {
        guard geteuid() == 0 else {
            throw TokenKeepError(
                .denied, "only root can make the machine key", hint: "sudo tokenkeep device make-machine-key")
        }
        let end = path.lastIndex(of: "/") ?? path.startIndex
        let (folder, name) = (String(path[..<end]), String(path[path.index(after: end)...]))
        let key = try SecretBytes(randomCount: length)
        do throws(Errno) {
            if try SystemCall.makeDirectory(folder, in: AT_FDCWD) {
                try SystemCall.changeMode(of: folder, to: 0o755)
            }
            guard let directory = try SystemCall.open(folder, in: AT_FDCWD, O_RDONLY | O_DIRECTORY) else {
                throw Errno.noSuchFileOrDirectory
            }
            guard try SystemCall.status(of: name, in: directory.number) == nil else { return false }
            return try write(key, as: name, in: directory)
        } catch {
            throw TokenKeepError(.io, "cannot make the machine key \(path): \(error)")
        }
    }

    /// Writes the key to a temporary file and then links this file as `name`, so that readers see the whole key or no file.
    private static func write(
        _ key: SecretBytes, as name: String, in directory: OwnedDescriptor
    ) throws(Errno) -> Bool {
        let temporary = "\(name).\(getpid())"
        _ = try SystemCall.remove(temporary, in: directory)
        let flags = O_WRONLY | O_CREAT | O_EXCL
        guard let file = try SystemCall.open(temporary, in: directory.number, flags, mode: 0o400) else {
            throw Errno.noSuchFileOrDirectory
        }
        defer { _ = try? SystemCall.remove(temporary, in: directory) }
        try key.withUnsafeBytes { bytes throws(Errno) in try SystemCall.write(bytes, to: file) }
        guard fchmod(file.number, 0o444) == 0 else { throw Errno(rawValue: errno) }
        try SystemCall.sync(file)
        do throws(Errno) {
            try SystemCall.link(temporary, as: name, in: directory)
        } catch {
            guard error == .fileExists else { throw error }
            return false
        }
        try SystemCall.sync(directory)
        return true
    }
}
