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
        let opened = try #require(try world.vault.open())
        let fileName = opened.keys.fileName(of: name)
        let hold = try #require(try world.vault.hold(name, world.call))
        let second = try VaultLock(trying: .item(name: fileName), of: opened.directory)
        #expect(second == nil)
        let copies = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init).filter
        {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == world.path + "/lock"
        }.map { dup($0) }
        defer { for copy in copies { close(copy) } }
        #expect(!copies.isEmpty)
        hold.end()
        let lock = try #require(try VaultLock(trying: .item(name: fileName), of: opened.directory))
        lock.release()
    }
}
