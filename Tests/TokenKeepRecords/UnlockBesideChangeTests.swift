import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// An unlock that another process's change of keys overtakes: it keeps keys for the header in force, or none.
@Suite struct UnlockBesideChangeTests {
    private let world = LockedVault()

    /// A change of the header that another process makes.
    enum Change: String, CaseIterable {
        case password, compromised, removal, recovery

        func make(_ world: LockedVault) throws {
            switch self {
            case .password: try world.changePassword(world.other())
            case .compromised: try world.changePassword(isCompromised: true, world.other())
            case .removal: try world.removePassword("old", world.other())
            case .recovery: _ = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
            }
        }

        /// The status of an unlock with the old password, and with "new", after the change.
        var statuses: (old: Status, new: Status) {
            switch self {
            case .password, .compromised: (.denied, .ok)
            case .removal: (.unsupported, .unsupported)
            case .recovery: (.ok, .denied)
            }
        }
    }

    private func prepare() throws {
        try world.save("a")
        try world.setPassword()
    }

    /// Unlocks with a password. `change` is made once a key is derived, before the vault's keys are kept.
    private func unlocking(
        _ password: String, in store: Store? = nil, during change: @escaping @Sendable () throws -> Void
    ) -> Status {
        let rounds = MutexGuarded(0)
        let store = store ?? world.other()
        let passwords = PasswordSlots(store.records.opener) { password, derivation, call throws(TokenKeepError) in
            let derived = try PasswordDerivation.key(of: password, by: derivation, call)
            let round = rounds.withLock { rounds in
                rounds += 1
                return rounds
            }
            do {
                if round == 1 { try change() }
            } catch {
                throw error as? TokenKeepError ?? TokenKeepError(.internal, "\(error)")
            }
            return derived
        }
        return LockedVault.status {
            let vault = try #require(try store.records.openToUnlock())
            _ = try passwords.unlock(with: SecretBytes(password), vault, world.call)
        }
    }

    /// The vault is in order, for processes that know it and for those that do not.
    private func expectSound(_ words: String) {
        for store in [world.store, world.other()] {
            #expect(world.loading("a", from: store) == .ok, "\(words)")
            #expect(LockedVault.status { try world.save("b", in: store) } == .ok, "\(words)")
        }
    }

    @Test(arguments: Change.allCases, ["old", "new"])
    func anUnlockThatAChangeOvertakesReadsTheHeaderAgain(change: Change, password: String) throws {
        try prepare()
        let world = world
        let status = unlocking(password) { try change.make(world) }
        #expect(status == (password == "old" ? change.statuses.old : change.statuses.new))
        expectSound("\(change) beside an unlock")
    }

    /// A slower process still has the keys of an earlier header when the later one is in force.
    @Test(arguments: Change.allCases) func keysOfAnEarlierHeaderAreNotKept(change: Change) throws {
        try prepare()
        let slow = world.other()
        let unlocked = try world.opened("old", slow)
        try change.make(world)
        #expect(throws: TokenKeepError(.conflict, "")) {
            try PasswordSlots(slow.records.opener).keep(unlocked, world.call)
        }
        expectSound("\(change) before keys are kept")
    }

    @Test func anUnlockThatIsOvertakenAgainAndAgainIsAConflict() throws {
        try prepare()
        let world = world
        let store = world.other()
        let passwords = PasswordSlots(store.records.opener) { password, derivation, call throws(TokenKeepError) in
            _ = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
            return try PasswordDerivation.key(of: password, by: derivation, call)
        }
        let vault = try #require(try store.records.open())
        let text = "another process changed the vault's keys meanwhile"
        #expect(throws: TokenKeepError(.conflict, text)) {
            try passwords.unlock(with: SecretBytes("old"), vault, world.call)
        }
        expectSound("recovery codes beside an unlock")
    }

    // MARK: Keys that were replaced elsewhere

    @Test func keysThatWereReplacedOnAnotherMachineOpenWithTheirPassword() throws {
        try prepare()
        try world.changePassword(isCompromised: true, world.elsewhere())
        let text = "the vault's keys were replaced on another machine or in a container"
        #expect(throws: TokenKeepError(.locked, text)) { try world.load("a") }
        #expect(LockedVault.status { try world.save("b") } == .locked)
        #expect(LockedVault.status { try world.unlock("old", world.other()) } == .denied)
        #expect(world.loading("a") == .locked)
        try world.unlock("new", world.other())
        expectSound("an unlock after keys were replaced elsewhere")
    }

    /// The password of the era in force is enough. Nobody has unlocked the era between here, whether it had a password or
    /// none.
    @Test(arguments: [true, false]) func anEraBetweenNeedsNoUnlock(hadPassword: Bool) throws {
        try prepare()
        let elsewhere = world.elsewhere()
        if hadPassword {
            try world.changePassword(to: "between", isCompromised: true, elsewhere)
            try world.changePassword(from: "between", isCompromised: true, elsewhere)
        } else {
            try world.removePassword("old", elsewhere)
            _ = try elsewhere.passwords.set(SecretBytes("new"))
        }
        #expect(world.loading("a") == .locked)
        for password in ["old", "between"] {
            #expect(LockedVault.status { try world.unlock(password, world.other()) } == .denied)
        }
        #expect(world.loading("a") == .locked)
        try world.unlock("new", world.other())
        expectSound("an unlock after two changes elsewhere")
    }

    @Test(arguments: Change.allCases.filter { $0 != .removal })
    func aChangeOfKeysThatWereReplacedElsewhereNeedsNoUnlock(change: Change) throws {
        try prepare()
        try world.changePassword(to: "old", isCompromised: true, world.elsewhere())
        try change.make(world)
        if change == .recovery { try world.unlock() }
        expectSound("\(change) after keys were replaced elsewhere")
    }

    @Test func anEarlierEraIsRefusedOnceALaterOneWasUnlocked() throws {
        try prepare()
        let copy = world.directory.path + "/copy"
        #expect(try ChildProcess.run("/bin/cp", ["-a", world.path, copy], environment: [:]).status == 0)
        try world.changePassword(isCompromised: true, world.elsewhere())
        try world.unlock("new")
        rename(world.path, world.directory.path + "/newer")
        rename(copy, world.path)
        #expect(world.loading("a", from: world.other()) == .corrupt)
        #expect(LockedVault.status { try world.unlock("old", world.other()) } == .corrupt)
    }

    /// Without a password nothing proves who replaced the keys.
    @Test func aLaterEraWithoutAPasswordIsRefused() throws {
        try prepare()
        try world.removePassword("old", world.elsewhere())
        #expect(world.loading("a") == .corrupt)
        #expect(LockedVault.status { try world.unlock("old", world.other()) } == .corrupt)
    }

    // MARK: The second copy of the header

    @Test(arguments: [true, false]) func theSecondCopyStandsInIfMACBOfTheFirstFails(isTrusted: Bool) throws {
        try prepare()
        let right = world.file("header")
        let altered = world.spoil("header")
        let store = isTrusted ? world.store : world.elsewhere()
        if isTrusted { try store.lock() }
        try world.unlock("old", store)
        #expect(world.loading("a", from: store) == .ok)
        #expect(world.file("header") == altered)
        // The next writer keeps the altered copy under a second name.
        try world.changePassword(store)
        #expect(world.file("header") == world.file("header.2") && world.file("header") != right)
        #expect(world.file("header.corrupt-1") == altered)
        #expect(world.loading("a", from: store) == .ok)
    }

    @Test func withoutAPasswordTheSecondCopyStandsInToo() throws {
        try world.save("a")
        world.spoil("header")
        #expect(world.loading("a", from: world.other()) == .ok)
        world.spoil("header.2")
        #expect(world.loading("a", from: world.other()) == .corrupt)
    }

    /// A change that was killed leaves a later second copy: the first one is in force, and its password alone.
    @Test func aLaterSecondCopyStandsInForNoRightOne() throws {
        try prepare()
        let (old, second) = (world.file("header"), "header.2")
        try world.changePassword(world.elsewhere())
        let later = world.file(second)
        world.write(old, to: "header")
        #expect(LockedVault.status { try world.unlock("new", world.elsewhere()) } == .denied)
        #expect(LockedVault.status { try world.unlock("old", world.elsewhere()) } == .ok)
        #expect(world.file(second) == later)
    }

    // MARK: Two changes at once

    /// The slower process must not take the keys of the faster process for an attack.
    @Test(arguments: [false, true]) func keysThatAnotherProcessHasJustReplacedAreAConflict(hasPassword: Bool) throws {
        try world.save("a")
        if hasPassword { try world.setPassword() }
        let before = try #require(try world.records.open())
        if hasPassword {
            try world.changePassword(isCompromised: true, world.other())
        } else {
            try world.setPassword()
        }
        let keys = PasswordDerivation.new(PasswordCosts(passes: 1, memoryKiB: 8))
        let derived = try PasswordDerivation.key(of: SecretBytes("third"), by: keys, world.call)
        let status = LockedVault.status {
            _ = try EraSwitch.begin(
                before, opener: world.records.opener, with: .password(derived, keys), retiring: [], device: nil)
        }
        #expect(status == .conflict)
    }

    // MARK: The end of the numbers

    @Test func theLastEraIsFollowedByNone() throws {
        #expect(try EraDirectory.number(after: 1) == 2)
        let last = UInt64(Int64.max)
        #expect(EraDirectory.number(of: "era-\(last)") == last)
        #expect(EraDirectory.number(of: "era-\(last + 1)") == nil)
        let text =
            "the vault's directory era-9223372036854775807 has the last number: its keys can be replaced no more"
        #expect(throws: TokenKeepError(.unsupported, text)) { try EraDirectory.number(after: last) }
    }

    @Test func theLastEpochIsFollowedByNone() throws {
        try prepare()
        let present = try #require(try world.records.open()).keys.header
        let last = Header(
            vaultID: present.vaultID, era: present.era, epoch: .max, createdAt: present.createdAt,
            nameKey: present.nameKey, journalKey: present.journalKey, slots: present.slots)
        let text = "the vault's header has the last epoch: it can be changed no more"
        #expect(throws: TokenKeepError(.unsupported, text)) { try last.with(slots: present.slots) }
    }
}
