import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct WatchedPathTests {
    private let directory = TemporaryDirectory()

    private func watch(_ vault: String) throws -> VaultWatch {
        try VaultWatch(
            Records(VaultOpener(path: "\(directory.path)/\(vault)", residentKeys: ClassKeyStore(obstacle: "a test"))))
    }

    /// Whether the kernel tells this process what is made in a directory.
    private func isTold(of name: String) throws -> Bool {
        var status = stat()
        try #require(stat(directory.path + name, &status) == 0)
        let inode = "ino:" + String(status.st_ino, radix: 16)
        let file = try #require(fopen("/proc/self/fdinfo/\(try ChangeNotifier.shared().descriptor)", "re"))
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while fgets(&line, Int32(line.count), file) != nil {
            let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
                .split(separator: " ")
            guard words.contains(where: { $0 == inode }),
                let mask = words.first(where: { $0.hasPrefix("mask:") })
            else { continue }
            return UInt32(mask.dropFirst("mask:".count), radix: 16).map { $0 & 0x100 != 0 } ?? false
        }
        return false
    }

    /// A watch that is begun before there is a vault must not be woken by every file of a home directory ever after.
    @Test func whatIsMadeIsToldOnlyWhereTheNextStepIsWaitedFor() throws {
        let watch = try watch("a/b/vault")
        #expect(try isTold(of: ""))
        mkdir(directory.path + "/a", 0o700)
        _ = watch.take()
        #expect(try isTold(of: "") == false)
        #expect(try isTold(of: "/a"))
        mkdir(directory.path + "/a/b", 0o700)
        mkdir(directory.path + "/a/b/vault", 0o700)
        _ = watch.take()
        for passed in ["", "/a", "/a/b"] { #expect(try isTold(of: passed) == false) }
        #expect(try isTold(of: "/a/b/vault"))
        directory.write([10], to: "a/b/vault/changes")
        #expect(watch.take().hasChanged)
        #expect(try isTold(of: "/a/b/vault") == false)
        // It goes, and is waited for again.
        #expect(rename(directory.path + "/a/b", directory.path + "/away") == 0)
        #expect(watch.take().hasChanged)
        #expect(try isTold(of: "") == false)
        #expect(try isTold(of: "/a"))
    }

    @Test func anotherWatchMayWaitThereStill() throws {
        let first = try watch("a/changed-not-yet")
        var second: VaultWatch? = try watch("b")
        mkdir(directory.path + "/a", 0o700)
        _ = first.take()
        #expect(try isTold(of: ""), "the second waits there")
        #expect(try isTold(of: "/a"))
        second = nil
        #expect(second == nil)
        #expect(try isTold(of: "") == false)
        #expect(try isTold(of: "/a"))
        mkdir(directory.path + "/a/changed-not-yet", 0o700)
        #expect(first.take().hasChanged)
    }
}
