import Foundation
import Glibc

/// A private directory for one test, removed with everything in it when the last reference goes.
public final class TemporaryDirectory: Sendable {
    /// Its path, without a slash at the end.
    public let path: String

    /// Locked until the directory goes: memory.py removes a directory that is nobody's. -1 if it is not in memory.
    private let lock: CInt

    /// Makes a directory of mode 0700 below `TMPDIR` or /tmp.
    ///
    /// - Parameter inMemory: below /dev/shm, where that can be written: for what syncs thousands of files.
    public init(inMemory: Bool = false) {
        let usual = getenv("TMPDIR").flatMap { String(validatingCString: $0) } ?? "/tmp"
        let isInMemory = inMemory && access("/dev/shm", W_OK) == 0
        let name = isInMemory ? "/dev/shm/tokenkeep-memory" : "\(usual)/tokenkeep-test"
        while true {
            var template = Array("\(name)-XXXXXX".utf8CString)
            guard let made = mkdtemp(&template) else { fatalError("mkdtemp: \(errno)") }
            let lock = isInMemory ? open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1
            if !isInMemory || (flock(lock, LOCK_EX | LOCK_NB) == 0 && access(made, F_OK) == 0) {
                (path, self.lock) = (String(cString: made), lock)
                return
            }
            close(lock)
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        close(lock)
    }

    /// Writes a file below the directory; directories on the way are made.
    public func write(_ bytes: [UInt8], to name: String, mode: UInt32 = 0o600) {
        var folder = path
        for component in name.split(separator: "/").dropLast() {
            folder += "/" + component
            mkdir(folder, 0o700)
        }
        let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, mode)
        guard descriptor >= 0 else { fatalError("open \(name): \(errno)") }
        defer { close(descriptor) }
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { fatalError("write \(name): \(errno)") }
    }

    /// Writes a machine key below the directory, and returns its path.
    public func writeMachineKey(_ bytes: [UInt8], to name: String = "machine-key") -> String {
        let path = "\(path)/\(name)"
        unlink(path)
        write(bytes, to: name)
        chmod(path, 0o444)
        return path
    }

    /// The bytes of a file below the directory; nil where there is none.
    public func read(_ name: String) -> [UInt8]? {
        let descriptor = open("\(path)/\(name)", O_RDONLY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// The names in a directory below this one, in order.
    public func names(in folder: String = "") -> [String] {
        guard let directory = opendir("\(path)/\(folder)") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}
