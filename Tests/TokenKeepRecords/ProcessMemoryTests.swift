import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Keys that the kernel does not keep end by this process's own clock.
@Suite struct ProcessMemoryTests {
    private let now: MutexGuarded<Int64>
    private let alone: LockedVault

    init() throws {
        let now = MutexGuarded<Int64>(1000)
        self.now = now
        alone = LockedVault(keyringObstacle: "there is none", clock: { now.withLock { $0 } })
        try alone.save("screen", level: .whenUnlocked)
        try alone.save("first", level: .afterFirstUnlock)
    }

    private func pass(to time: Int64) { now.withLock { $0 = time } }
    private func loading(_ account: String, _ store: Store? = nil) -> Status { alone.loading(account, from: store) }

    @Test func theFirstLevelEndsAtItsTimeAndNoOther() throws {
        try alone.setPassword()
        for time: Int64 in [1000, 1001, 1179] {
            pass(to: time)
            #expect(loading("screen") == .ok && loading("first") == .ok, "\(time)")
            #expect(throws: Never.self) { try alone.save("screen", level: .whenUnlocked) }
        }
        for time: Int64 in [1180, 1181, 1_000_000_000] {
            pass(to: time)
            #expect(loading("screen") == .locked, "\(time)")
            #expect(throws: TokenKeepError(.locked, "")) { try alone.save("screen", level: .whenUnlocked) }
            #expect(loading("first") == .ok, "\(time)")
            #expect(try alone.strength(.screenLock, of: .whenUnlocked) == .none)
        }
        // Its name and metadata stay readable, as while the screen is locked.
        let listing = try alone.list()
        #expect(listing.items.count == 2 && listing.problem == nil)
        // The clock is of the unlock: one that is put back brings nothing back.
        pass(to: 1000)
        #expect(loading("screen") == .locked)
    }

    @Test func eachUnlockStartsAnew() throws {
        try alone.setPassword()
        pass(to: 1100)
        try alone.unlock()
        pass(to: 1279)
        #expect(loading("screen") == .ok)
        #expect(throws: TokenKeepError(.denied, "")) { try alone.unlock("wrong") }
        pass(to: 1280)
        #expect(loading("screen") == .locked)
        try alone.unlock()
        #expect(loading("screen") == .ok)
        // Another store of the process has its own.
        let other = alone.other()
        pass(to: 1400)
        try alone.unlock("old", other)
        pass(to: 1460)
        #expect(loading("screen") == .locked && loading("screen", other) == .ok)
        pass(to: 1580)
        #expect(loading("screen", other) == .locked && loading("first", other) == .ok)
    }

    @Test(arguments: [false, true]) func aChangeOfThePasswordGivesTheSameTime(isCompromised: Bool) throws {
        try alone.setPassword()
        pass(to: 1100)
        try alone.changePassword(isCompromised: isCompromised)
        pass(to: 1279)
        #expect(loading("screen") == .ok)
        pass(to: 1280)
        #expect(loading("screen") == .locked && loading("first") == .ok)
    }

    @Test func theScreenLockEndsTheFirstLevelAlone() throws {
        try alone.setPassword()
        #expect(try alone.store.lock(.screen) != nil)
        #expect(loading("screen") == .locked && loading("first") == .ok)
        #expect(try alone.store.lock() != nil)
        #expect(loading("first") == .locked)
    }
}
