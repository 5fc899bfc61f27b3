import Foundation
import Glibc

/// The kernel's list of file locks.
public enum KernelLocks {
    /// Whether the kernel keeps a thread waiting for a lock of a file below the directory.
    public static func isWaited(below directory: String) -> Bool {
        guard let locks = try? FileHandle(forReadingAtPath: "/proc/locks")?.readToEnd() else { return false }
        var waited = Set<String>()
        for line in String(decoding: locks, as: UTF8.self).split(separator: "\n") where line.contains("->") {
            // The words before the last two are the file: MAJOR:MINOR:INODE.
            guard let file = line.split(separator: " ").dropLast(2).last, let inode = file.split(separator: ":").last
            else { continue }
            waited.insert(String(inode))
        }
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.contains { name in
            var status = stat()
            return stat("\(directory)/\(name)", &status) == 0 && waited.contains("\(status.st_ino)")
        }
    }
}
