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
