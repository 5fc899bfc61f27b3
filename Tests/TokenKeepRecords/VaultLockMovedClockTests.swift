import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Waits for locks that end with their deadline.
@Suite struct VaultLockMovedClockTests {
    @Test func waitsForALockUntilItsDeadlineAndNoLonger() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let records = Records(VaultOpener(path: directory.path + "/vault", residentKeys: ClassKeyStore()))
        let module = VaultModule(records)
        try module.put("old")
        let opened = try #require(try records.open())
        let lock = try VaultLock(.whole, of: opened.directory, .patient)
        #expect(throws: TokenKeepError(.busy, "")) {
            try TestClock.passLimits(when: { KernelLocks.isWaited(below: directory.path) }) { try module.put("new") }
        }
        #expect(try module.value() == "old")  // readers take no lock
        lock.release()
        // The wait that was given up must not hold the lock now that it was granted.
        try module.put("new")
        #expect(try module.value() == "new")
    }

    /// A change of keys must not starve beside writers of many items, some of which always hold theirs.
    @Test func whoWaitsForTheWholeVaultClosesTheGate() throws {
        let (folder, directory) = try Self.vault()
        defer { withExtendedLifetime(folder) {} }
        let item = try VaultLock(.item(id: Self.item), of: directory, .patient)
        let waiter = TestThread { try? VaultLock(.whole, of: directory, .patient).release() }
        #expect(Patience.wait { KernelLocks.isWaited(below: directory.path) })
        #expect(Self.lockGate(directory) == nil)
        item.release()
        waiter.join()
        let gate = try #require(Self.lockGate(directory))
        close(gate)
    }

    @Test func theGateKeepsLocksOfItemsForASecondAndNoLonger() throws {
        let (folder, directory) = try Self.vault()
        defer { withExtendedLifetime(folder) {} }
        let gate = try #require(Self.lockGate(directory))
        let waited = try TestClock.passLimits(by: 0.1) { try VaultLock(.item(id: Self.item), of: directory, .patient) }
        waited.answer.release()
        #expect(waited.duration >= .seconds(1) && waited.duration < .seconds(60))
        close(gate)
    }

    @Test func whoGivesUpOnTheWholeVaultOpensTheGate() throws {
        let (folder, directory) = try Self.vault()
        defer { withExtendedLifetime(folder) {} }
        let item = try VaultLock(.item(id: Self.item), of: directory, .patient)
        #expect(throws: TokenKeepError(.busy, "")) {
            try TestClock.passLimits(when: { KernelLocks.isWaited(below: directory.path) }) {
                try VaultLock(.whole, of: directory, .patient)
            }
        }
        let gate = try #require(Self.lockGate(directory))
        close(gate)
        item.release()
    }

    private static let item = [UInt8](repeating: 7, count: 16)

    private static func vault() throws -> (TemporaryDirectory, VaultDirectory) {
        let directory = TemporaryDirectory(inMemory: true)
        let records = Records(VaultOpener(path: directory.path + "/vault", residentKeys: ClassKeyStore()))
        try VaultModule(records).put("old")
        return (directory, try #require(try records.open()).directory)
    }

    /// Locks the gate as another process does; nil if it is locked.
    private static func lockGate(_ directory: VaultDirectory) -> Int32? {
        let descriptor = open(directory.path + "/lock", O_RDWR | O_CLOEXEC)
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_start = .max - 1
        range.l_len = 1
        let setLockOfDescription: Int32 = 37  // F_OFD_SETLK
        guard fcntl(descriptor, setLockOfDescription, &range) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// A call that changes passwords may take as long as it needs, but not as long as another process likes.
    @Test func anItemThatIsHeldHoldsNoDestruction() throws {
        let locked = LockedVault()
        try locked.setPassword()
        try locked.save("e", flags: .requireEnforced)
        let holder = try #require(LockHolder(locked.path + "/lock"))
        defer { holder.release() }
        let limit = Deadline.patient
        #expect {
            try TestClock.passLimits(by: 1) { try locked.removePassword(isDestroying: true) }
        } throws: { error in
            (error as? TokenKeepError)?.status == .busy
                && (error as? TokenKeepError)?.message.contains("s (e)") == true
        }
        #expect(!limit.hasPassed)
        #expect(try locked.load("e") == "secret")
    }
}
