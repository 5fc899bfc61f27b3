import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@Suite struct VaultFilesTests {
    /// An era may be replaced and removed while a reader lists its records.
    @Test(arguments: [false, true]) func aDirectoryThatWasRemovedHasNoNames(inMemory: Bool) throws {
        let directory = TemporaryDirectory(inMemory: inMemory)
        directory.write([1], to: "era-1/records/a")
        let vault = try #require(try VaultDirectory.open(directory.path))
        let records = try #require(try EraDirectory.open(1, of: vault)?.openRecords())
        #expect(try VaultFiles.names(in: records) == ["a"])
        unlink(directory.path + "/era-1/records/a")
        rmdir(directory.path + "/era-1/records")
        #expect(try VaultFiles.names(in: records) == [])
    }
}
