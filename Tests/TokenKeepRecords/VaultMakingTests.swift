import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Several processes or threads make the same vault.
@Suite struct VaultMakingTests {
    private let directory = TemporaryDirectory(inMemory: true)

    /// Who comes too late need not wait until nobody holds the lock of an item: others may hold such locks in turn.
    @Test func whoFindsTheVaultMadeDoesNotWaitForLocksOfItems() throws {
        let opener = VaultOpener(
            path: directory.path + "/vault", residentKeys: ClassKeyStore(obstacle: "this is a test"))
        try VaultMaking.make(opener, .patient)
        let holder = try #require(LockHolder(directory.path + "/vault/lock"))
        defer { holder.release() }
        try VaultMaking.make(opener, .patient)
    }

    @Test func whoFindsNoVaultWaitsForItsMaker() throws {
        let opener = VaultOpener(
            path: directory.path + "/vault", residentKeys: ClassKeyStore(obstacle: "this is a test"))
        _ = try VaultDirectory.make(directory.path + "/vault")
        directory.write([], to: "vault/lock")
        let holder = try #require(LockHolder(directory.path + "/vault/lock"))
        #expect(throws: TokenKeepError(.busy, "")) { try VaultMaking.make(opener, .passed) }
        let waiting = TestThread { try? VaultMaking.make(opener, .patient) }
        holder.release()
        waiting.join()
        #expect(try opener.open() != nil)
    }
}
