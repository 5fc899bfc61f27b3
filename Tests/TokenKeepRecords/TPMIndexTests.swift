import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// The secret of the level that ends with the password, in an index of the TPM, which an attacker may answer for.
@Suite(.enabled(if: geteuid() == 0, "the helper must be root's")) struct TPMIndexTests {
    private let tpm: FakeTPM
    private let world: LockedVault
    private static let secret: UInt8 = 1
    private static let makeIndex: UInt8 = 4
    private static let destroyIndex: UInt8 = 6
    private static let ownerPassword: UInt8 = 4
    private static let lost: [Status] = [.ok, .ok, .ok, .ok, .locked]

    init() throws {
        tpm = try FakeTPM()
        world = LockedVault(tpm: tpm.places)
    }

    private var secrets: [UInt32] { tpm.indices.filter { $0.value == Self.secret }.map(\.key) }

    private func strength(_ store: Store? = nil) throws -> ProtectionStrength {
        try world.strength(.diskTheft, of: .whenPasscodeSetThisDeviceOnly, store)
    }

    @Test func eachChangeOfThePasswordHasOneIndex() throws {
        try world.bindToTPM()
        #expect(try secrets.count == 1 && strength() == .enforced)
        for isCompromised in [false, true] {
            let before = secrets
            try world.changePassword(from: "old", to: "old", isCompromised: isCompromised, world.other())
            #expect(secrets.count == 1 && secrets != before)
            #expect(Levels.statuses(world, world.other()) == Levels.open)
        }
        try world.removePassword("old", isDestroying: true, world.other())
        #expect(secrets.isEmpty)
    }

    @Test func aTPMThatCanMakeNoIndexSealsTheSecret() throws {
        for reason: UInt8 in [4, 11, 15] {
            tpm.refuse(Self.makeIndex, reason: reason)
            let world = LockedVault(tpm: tpm.places)
            try world.bindToTPM(saving: [])
            try world.save("five", level: .whenPasscodeSetThisDeviceOnly)
            #expect(try world.strength(.diskTheft, of: .whenPasscodeSetThisDeviceOnly) == .advisory)
            #expect(try world.strength(.diskTheft, of: .afterFirstUnlockThisDeviceOnly) == .enforced)
            try world.unlock("old", world.elsewhere())
            #expect(world.loading("five", from: world.other()) == .ok)
        }
        #expect(secrets.isEmpty)
    }

    /// A refusal that passes by itself does not weaken the level.
    @Test func aTPMThatIsBusyMakesNoWeakerSlot() throws {
        try world.setPassword("old")
        let header = world.file("header")
        tpm.refuse(Self.makeIndex, reason: 3)
        let status = LockedVault.status {
            _ = try world.other().device.choose(.tpm2) { () throws(TokenKeepError) in try SecretBytes("old") }
        }
        #expect(status == .unavailable && world.file("header") == header)
    }

    @Test func aTPMThatDestroysNothingKeepsThePassword() throws {
        try world.bindToTPM()
        tpm.refuse(Self.destroyIndex, reason: Self.ownerPassword)
        let status = LockedVault.status { try world.removePassword("old", isDestroying: true, world.other()) }
        #expect(status == .unavailable && secrets.count == 1)
        #expect(try #require(try world.records.open()).keys.header.hasPassword)
        #expect(Levels.statuses(world, world.other()).prefix(4) == [.ok, .ok, .ok, .ok])
        tpm.refuse(Self.destroyIndex, reason: nil)
        try world.removePassword("old", isDestroying: true, world.other())
        #expect(secrets.isEmpty)
    }

    /// A program on the wire can forge the loss of an index: while an item needs the key, the header keeps it.
    @Test func theLossOfAnIndexLosesNoKeyThatAnItemNeeds() throws {
        try world.bindToTPM()
        try world.store.lock()
        tpm.refuse(5, reason: 10)
        let header = world.file("header")
        #expect(try world.unlock("old", world.elsewhere()).deviceProblem != nil)
        let store = world.elsewhere()
        try world.unlock("old", store)
        #expect(Levels.statuses(world, store) == Self.lost)
        #expect(LockedVault.status { try world.changePassword(store) } == .unavailable)
        #expect(world.file("header") == header)
        tpm.refuse(5, reason: nil)
        let after = world.elsewhere()
        #expect(try world.unlock("old", after).deviceProblem == nil)
        #expect(Levels.statuses(world, after) == Levels.open)
    }

    /// As a removal of the password leaves it that is killed when the index is gone.
    @Test func aLostIndexWithoutItemsIsMadeAnew() throws {
        try world.bindToTPM()
        #expect(try world.clear(AccessLevel.whenPasscodeSetThisDeviceOnly.word))
        tpm.dropIndices(Self.secret)
        let store = world.elsewhere()
        #expect(try world.unlock("old", store).deviceProblem == nil)
        #expect(try secrets.count == 1 && strength(store) == .enforced)
        try world.save("again", level: .whenPasscodeSetThisDeviceOnly, in: store)
        let other = world.elsewhere()
        try world.unlock("old", other)
        #expect(world.loading("again", from: other) == .ok)
        #expect(Levels.statuses(world, other).prefix(4) == [.ok, .ok, .ok, .ok])
    }

    /// The number of the index may belong to an index that was made later.
    @Test func anIndexWithAnotherAuthValueIsALostOne() throws {
        try world.bindToTPM()
        tpm.refuse(5, reason: 6)
        #expect(try world.opened("old", world.elsewhere()).lacksIndexAlone)
    }

    @Test func afterALossThePasswordCanBeRemoved() throws {
        try world.bindToTPM()
        tpm.dropIndices(Self.secret)
        let store = world.elsewhere()
        #expect(LockedVault.status { try world.removePassword("old", store) } == .policy)
        try world.removePassword("old", isDestroying: true, store)
        #expect(Levels.statuses(world, world.elsewhere()) == [.ok, .ok, .ok, .ok, .notFound])
    }

    @Test func afterALossTheVaultIsBoundAnewWithoutTheLevelsItems() throws {
        try world.bindToTPM()
        tpm.dropIndices(Self.secret)
        let store = world.elsewhere()
        func rebind(isDestroying: Bool) throws {
            _ = try store.device.rebind(
                .tpm2, isDestroying: isDestroying, password: { () throws(TokenKeepError) in try SecretBytes("old") },
                lost: { names, _ in #expect(names.count == 1) })
        }
        #expect(LockedVault.status { try rebind(isDestroying: false) } == .policy)
        try rebind(isDestroying: true)
        #expect(Levels.statuses(world, store) == [.ok, .ok, .ok, .ok, .notFound])
        #expect(secrets.count == 1)
    }

    @Test func anIndexThatAnInterruptedChangeLeftIsDestroyedByTheNext() throws {
        try world.bindToTPM()
        let named = try #require(secrets.first)
        try abandonedChange()
        #expect(secrets.count == 2)
        try world.unlock("old", world.elsewhere())
        try world.changePassword(world.other())
        #expect(secrets.count == 1 && secrets != [named])
        #expect(Levels.statuses(world, world.other()) == Levels.open)
        // And by the removal, also one that opens the same keys.
        try abandonedChange("new")
        try world.removePassword("new", isDestroying: true, world.other())
        #expect(secrets.isEmpty)
    }

    /// Makes the slots of a change that ends before the header is replaced.
    private func abandonedChange(_ password: String = "old") throws {
        let unlocked = try world.opened(password)
        let status = LockedVault.status {
            _ = try PasswordSlots(world.records.opener).change(unlocked, to: SecretBytes("never"), world.call) {
                () throws(TokenKeepError) in throw TokenKeepError(.cancelled, "killed")
            }
        }
        #expect(status == .cancelled)
    }

    /// Another process takes the index of an unfinished change for a remnant.
    @Test func aChangeWhoseIndexIsGoneIsAConflict() throws {
        try world.bindToTPM()
        let unlocked = try world.opened()
        let header = world.file("header")
        let status = LockedVault.status {
            _ = try PasswordSlots(world.records.opener).change(unlocked, to: SecretBytes("new"), world.call) {
                () throws(TokenKeepError) in tpm.dropIndices(Self.secret)
            }
        }
        #expect(status == .conflict && world.file("header") == header)
    }
}
