import Foundation
import Glibc

/// The kernel's list of file locks.
public enum KernelLocks {
    /// Whether the kernel keeps a thread waiting for a lock of a file below the directory.
    public static func isWaited(below directory: String) -> Bool {
        var waited = Set<Substring>()
        for line in lines(of: "/proc/locks") where line.contains("->") {
            // The word before the last two is the file: MAJOR:MINOR:INODE.
            if let file = line.split(separator: " ").dropLast(2).last { waited.insert(file) }
        }
        guard !waited.isEmpty, let device = device(of: directory) else { return false }
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return files.contains { name in
            var status = stat()
            return stat("\(directory)/\(name)", &status) == 0 && waited.contains("\(device):\(status.st_ino)")
        }
    }

    /// The numbers of a directory's file system, as that list has them. What stat(2) says of a file's device may be another's.
    private static func device(of directory: String) -> String? {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(descriptor) }
        let facts = lines(of: "/proc/self/fdinfo/\(descriptor)")
        guard let mount = facts.first(where: { $0.hasPrefix("mnt_id:") })?.split(separator: "\t").last else {
            return nil
        }
        let mounts = lines(of: "/proc/self/mountinfo").lazy.map { $0.split(separator: " ") }
        guard let numbers = mounts.first(where: { $0.first == mount })?[2].split(separator: ":") else { return nil }
        let words = numbers.compactMap { Int($0) }.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return words.joined(separator: ":")
    }

    private static func lines(of path: String) -> [Substring] {
        guard let bytes = try? FileHandle(forReadingAtPath: path)?.readToEnd() else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
}
