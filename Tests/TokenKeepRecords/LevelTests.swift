import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct LevelTests {
    private let locked = LockedVault()

    @Test func presenceAsksAtEachUse() throws {
        #expect(throws: TokenKeepError(.policy, "")) { try locked.save("p", flags: .userPresence) }
        try locked.setPassword()
        let presence = try locked.presence()
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("p", flags: .userPresence) }
        try locked.save("p", "one", flags: .userPresence, presence: presence)
        // The class key is there, the other half is not.
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("p") }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("p", from: locked.other()) }
        #expect(try locked.load("p", presence: locked.presence()) == "one")
        #expect(try locked.kernelKeys().allSatisfy { !$0.contains(":18:") })
        // The demand stays with the item.
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("p", "two") }
        try locked.save("p", "two", presence: presence)
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("p") }
        #expect(throws: TokenKeepError(.policy, "")) { try locked.save("p", level: .afterFirstUnlock) }
        #expect(try locked.load("p", presence: presence) == "two")
        #expect(try locked.clear("p"))
    }

    /// A reading of the whole store would show that an item cannot be read.
    @Test func aWatchReadsAChangedItemAloneWhoseKeyIsLocked() throws {
        try locked.setPassword()
        let presence = try locked.presence()
        try locked.save("presence", "one", flags: .userPresence, presence: presence)
        try locked.save("screen", "one", level: .whenUnlocked)
        try locked.save("damaged")
        let damaged = "records/" + (try locked.recordFile(of: "damaged"))
        let reader = locked.other()
        let watch = try StoreWatch(reader)
        locked.write([1, 2, 3], to: damaged)
        try locked.save("presence", "two", flags: .userPresence, presence: presence)
        #expect(try watch.next() == .saved(ItemName(service: "s", account: "presence")))
        #expect(try watch.next() == nil)
        try locked.save("screen", "two", level: .whenUnlocked)
        try locked.save("new", flags: .userPresence, presence: presence)
        _ = try reader.lock(.screen)
        #expect(locked.loading("screen") == .locked)
        #expect(try watch.next() == .saved(ItemName(service: "s", account: "new")))
        #expect(try watch.next() == .saved(ItemName(service: "s", account: "screen")))
        #expect(try watch.next() == nil)
    }

    @Test func aDemandIsKeptWithTheItem() throws {
        #expect(throws: TokenKeepError(.policy, "")) { try locked.save("a", flags: .requireEnforced) }
        try locked.setPassword()
        try locked.save("a", flags: .requireEnforced)
        try locked.save("a", "two")
        let name = try ItemName(service: "s", account: "a")
        #expect(try VaultModule(locked.records).load(name, locked.call).details.flags == .requireEnforced)
        #expect(throws: TokenKeepError(.policy, "")) { try locked.save("a", level: .afterFirstUnlock) }
        // No agent sees the screen.
        #expect(throws: TokenKeepError(.policy, "")) {
            try locked.save("b", level: .whenUnlocked, flags: .requireEnforced)
        }
        #expect(try locked.load("a") == "two")
    }

    /// The report, cell by cell: what the tests of adversaries found.
    @Test func theReportSaysWhatIsSo() throws {
        func row(_ level: AccessLevel, _ flags: ItemFlags = [], _ store: Store? = nil) throws -> [ProtectionStrength] {
            let protection = try locked.protection(of: level, flags, store)
            return ProtectionAxis.allCases.map { protection[$0].strength }
        }
        for level in [AccessLevel.whenUnlocked, .afterFirstUnlock] {
            #expect(try row(level, .userPresence) == [.enforced, .none, .none, .none, .none])
        }
        try locked.setPassword()
        #expect(try row(.afterFirstUnlock) == [.enforced, .enforced, .none, .none, .none])
        #expect(try row(.whenUnlocked) == [.enforced, .enforced, .none, .advisory, .none])
        #expect(try row(.afterFirstUnlock, .userPresence) == [.enforced, .enforced, .none, .none, .enforced])
        let alone = LockedVault.store(locked.path, ClassKeyStore(obstacle: "there is none"))
        let screenLock = try locked.protection(of: .whenUnlocked, [], alone)[.screenLock]
        #expect(screenLock.strength == .none && screenLock.mechanism.contains("there is none"))
    }

    @Test func withoutAKeyringTheKeysAreInThisProcessAlone() throws {
        let alone = LockedVault(keyringObstacle: "there is none")
        try alone.save("a")
        let unlocking = try alone.setPassword()
        #expect(unlocking.reasonForMemory == "there is none")
        #expect(try alone.load("a") == "secret" && alone.kernelKeys().isEmpty)
        let other = alone.other()
        #expect(throws: TokenKeepError(.locked, "")) { try alone.load("a", from: other) }
        #expect(try alone.unlock("old", other).reasonForMemory == "there is none")
        #expect(try alone.load("a", from: other) == "secret")
        try other.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try alone.load("a", from: other) }
        #expect(try alone.load("a") == "secret")
    }

    @Test func aKeyThatIsGoneFromTheKernelIsLocked() throws {
        try locked.save("a")
        try locked.setPassword()
        let keys = try #require(try locked.records.open()).keys
        #expect(KernelKeyring.purge("tokenkeep:\(Hexadecimal.text(keys.vaultID)):2:") == .done)
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a") }
        try locked.unlock()
        try locked.unlock()
        #expect(try locked.load("a") == "secret")
    }

    @Test func aKeyOfAnotherLengthIsNone() throws {
        try locked.save("a")
        try locked.setPassword()
        let keys = try #require(try locked.records.open()).keys
        let id = try keys.currentKey(for: .level(.afterFirstUnlock)).id
        let place = ClassKeyPlace.of(id, for: .level(.afterFirstUnlock), keys.vaultID)
        for count in [1, 31, 33] {
            #expect(KernelKeyring.publish(try SecretBytes(randomCount: count), as: place, endsAfter: nil) == nil)
            #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a") }
        }
        #expect(KernelKeyring.publish(try SecretBytes(randomCount: 32), as: place, endsAfter: nil) == nil)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load("a") }
    }

    private struct Stop: Error {}

    private func outcome(_ body: () throws -> Void) -> (Status, hint: String?) {
        do {
            try body()
            return (.ok, nil)
        } catch {
            let error = error as? TokenKeepError
            return (error?.status ?? .internal, error?.hint)
        }
    }

    /// Every byte of one copy, or of both.
    @Test func aHeaderThatWasChangedIsNoticed() throws {
        try locked.save("a")
        try locked.setPassword()
        let good = locked.file("header")
        for index in good.indices {
            var bad = good
            bad[index] ^= 4
            for spoilt in [["header"], ["header.2"], ["header", "header.2"]] {
                for name in ["header", "header.2"] {
                    locked.write(spoilt.contains(name) ? bad : good, to: name)
                }
                let isVersion = index == 8 || index == 9
                // MAC B alone, in both copies: somebody wrote the header.
                let isRefused = index >= good.count - 32 && spoilt.count == 2
                let expected: Status = spoilt.count == 1 ? .ok : isVersion ? .unsupported : .corrupt
                let (status, hint) = outcome { () throws in
                    guard try locked.load("a", from: locked.other()) == "secret" else { throw Stop() }
                }
                #expect(status == expected, "\(index) \(spoilt)")
                // The way out is named; and the report knows no more than the load.
                let wayOut = isRefused ? "put the vault's own files back" : "from a backup, or make a new vault"
                #expect((hint?.contains(wayOut) == true) == (status == .corrupt))
                let (reported, reportedHint) = outcome {
                    guard try locked.strength(.diskTheft, of: .afterFirstUnlock, locked.other()) == .enforced else {
                        throw Stop()
                    }
                }
                #expect(reported == expected && reportedHint == hint, "\(index) \(spoilt)")
            }
        }
        // The right copy heals the vault.
        locked.write(good, to: "header.2")
        #expect(try locked.load("a", from: locked.other()) == "secret")
        locked.putHeader(good)
        // A change of the header mends the copy, and keeps the damaged one: also where MAC B alone fails.
        for (number, passwords) in [("old", "new"), ("new", "old")].enumerated() {
            var bad = locked.file("header")
            bad[number == 0 ? 40 : bad.count - 1] ^= 1
            locked.write(bad, to: "header")
            try locked.changePassword(from: passwords.0, to: passwords.1)
            #expect(locked.file("header.corrupt-\(number + 1)") == bad)
            #expect(locked.file("header") == locked.file("header.2"))
            #expect(try locked.load("a", from: locked.other()) == "secret")
        }
    }
}
