import Foundation
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct VaultLockTests {
    /// A process that another thread starts has copies of all descriptors until it runs its program.
    @Test func aLockThatIsGivenBackStaysInNoCopy() throws {
        let world = LockedVault(keyringObstacle: "this is a test")
        try world.save("ann")
        let name = try ItemName(service: "s", account: "ann")
        let opened = try #require(try world.records.open())
        let id = opened.keys.journal.id(of: name)
        let item = try world.records.begin(name, world.call)
        let second = try VaultLock(trying: .item(id: id), of: opened.directory)
        #expect(second == nil)
        let copies = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init).filter
        {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == world.path + "/lock"
        }.map { dup($0) }
        defer { for copy in copies { close(copy) } }
        #expect(!copies.isEmpty)
        end(item)
        let lock = try #require(try VaultLock(trying: .item(id: id), of: opened.directory))
        lock.release()
    }

    private func end(_ item: consuming ItemTransaction) {}
}
