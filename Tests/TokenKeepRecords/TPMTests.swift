import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A vault that is bound to a software TPM, by the real program tokenkeep-tpm2.
@Suite(.enabled(if: SoftwareTPM.isInstalled, "root, swtpm, tpm2-tools or the headers of tpm2-tss are missing"))
struct TPMTests {
    private let machine: SoftwareTPM
    private let world: LockedVault

    init() throws {
        machine = try SoftwareTPM()
        world = LockedVault(tpm: TPMTests.direct(machine))
    }

    private static func direct(_ machine: SoftwareTPM) -> TPMPlaces {
        TPMPlaces(program: SoftwareTPM.program, configuration: machine.configuration)
    }

    private func bound() throws {
        try world.setPassword("old")
        let chosen = try world.other().device.choose(nil) { () throws(TokenKeepError) in try SecretBytes("old") }
        #expect(chosen.provider == .tpm2 && chosen.passedOver == nil)
        for level in Levels.all { try world.save(level.word, level: level) }
    }

    private func statuses(_ store: Store? = nil) -> [Status] { Levels.statuses(world, store) }

    private func unlock(_ store: Store, _ password: String = "old") throws -> DeviceFault.Kind? {
        let problem = try store.unlock(SecretBytes(password)).deviceProblem
        let kind = try store.device.report().survey.fault?.kind
        #expect((problem == nil) == (kind == nil))
        return kind
    }

    @Test func theTPMOpensEveryLevel() throws {
        try bound()
        #expect(statuses() == Levels.open)
        #expect(try world.strength(.otherMachine, of: .afterFirstUnlockThisDeviceOnly) == .enforced)
        #expect(try world.strength(.otherMachine) == .none)
        try world.store.lock()
        #expect(statuses(world.other()) == Levels.locked)
        #expect(try unlock(world.other()) == nil)
        #expect(statuses(world.other()) == Levels.open)
        let survey = try world.store.device.report().survey
        #expect(survey.way == .direct && survey.maker?.isEmpty == false && survey.available == [.tpm2])
    }

    @Test func aBlobOpensByBothWays() throws {
        try bound()
        let helper = try TPMHelper(machine)
        let store = world.elsewhere(TPMPlaces(socket: helper.path))
        #expect(try unlock(store) == nil)
        #expect(statuses(store) == Levels.open)
        #expect(try store.device.report().survey.way == .helper)
        helper.kill()
        #expect(try unlock(world.elsewhere(TPMPlaces(socket: helper.path))) == .absent)
    }

    @Test func anotherMachineOpensTheOtherLevels() throws {
        try bound()
        let other = try SoftwareTPM()
        let store = world.elsewhere(TPMTests.direct(other))
        #expect(try unlock(store) == .other)
        #expect(statuses(store) == Levels.withoutDevice)
        let header = world.file("header")
        for isCompromised in [false, true] {
            #expect(
                LockedVault.status { try world.changePassword(to: "new", isCompromised: isCompromised, store) }
                    == .unavailable)
        }
        #expect(world.file("header") == header)
    }

    @Test func aClearedTPMIsAnotherOne() throws {
        try bound()
        try machine.clear()
        #expect(try unlock(world.elsewhere()) == .other)
        #expect(statuses(world.elsewhere()) == Levels.locked)
        try world.store.lock()
        let store = world.other()
        #expect(try unlock(store) == .other)
        #expect(statuses(store) == Levels.withoutDevice)
        _ = try store.device.rebind(
            .tpm2, isDestroying: true, password: { () throws(TokenKeepError) in try SecretBytes("old") },
            lost: { _, fault in #expect(fault.kind == .other) })
        #expect(statuses(store) == [.ok, .ok, .notFound, .notFound, .notFound])
        try world.save("new", level: .whenUnlockedThisDeviceOnly, in: store)
        try world.store.lock()
        #expect(try unlock(world.other()) == nil)
        #expect(world.loading("new", from: world.other()) == .ok)
    }

    @Test func withoutTheTPMTheOtherLevelsOpen() throws {
        try bound()
        try world.store.lock()
        machine.kill()
        #expect(try unlock(world.other()) == .absent)
        #expect(statuses(world.other()) == Levels.withoutDevice)
        try machine.start()
        #expect(try unlock(world.other()) == nil)
        #expect(statuses(world.other()) == Levels.open)
    }

    @Test func changesOfThePasswordKeepTheLevels() throws {
        try bound()
        let code = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
        try world.changePassword(from: "old", to: "new", world.other())
        #expect(try unlock(world.elsewhere(), "new") == nil)
        _ = try world.other().passwords.recover(code: code, newPassword: SecretBytes("newer"))
        #expect(statuses(world.other()) == [.ok, .ok, .ok, .ok, .corrupt])
        try world.changePassword(from: "newer", to: "newest", isCompromised: true, world.other())
        #expect(statuses(world.other()) == [.ok, .ok, .ok, .ok, .corrupt])
        _ = try world.other().passwords.remove(SecretBytes("newest"), isDestroying: true)
        #expect(statuses(world.elsewhere()) == [.ok, .ok, .ok, .ok, .corrupt])
    }

    @Test func theVaultMovesToAMachineKeyAndBack() throws {
        try bound()
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        for provider in [DeviceProvider.machineKey, .tpm2] {
            _ = try world.other().device.rebind(
                provider, isDestroying: false, password: { () throws(TokenKeepError) in try SecretBytes("old") },
                lost: { _, _ in })
            #expect(try world.other().device.report().device?.provider == provider)
            let store = world.elsewhere()
            #expect(try unlock(store) == nil)
            #expect(statuses(store) == Levels.open)
            let expected: ProtectionStrength = provider == .tpm2 ? .enforced : .advisory
            #expect(try world.strength(.otherMachine, of: .whenUnlockedThisDeviceOnly, store) == expected)
        }
    }

    @Test func withoutAPasswordTheKeyfileAndTheTPMOpenTheLevels() throws {
        _ = try world.other().device.choose(.tpm2) { () throws(TokenKeepError) in try SecretBytes("") }
        try world.save("four", level: .afterFirstUnlockThisDeviceOnly)
        #expect(world.loading("four", from: world.elsewhere()) == .ok)
        let other = try SoftwareTPM()
        #expect(world.loading("four", from: world.elsewhere(TPMTests.direct(other))) == .locked)
        #expect(try world.strength(.otherMachine, of: .afterFirstUnlockThisDeviceOnly) == .enforced)
    }
}

/// The levels of items, and what opens.
enum Levels {
    static let all: [AccessLevel] = [
        .whenUnlocked, .afterFirstUnlock, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
        .whenPasscodeSetThisDeviceOnly,
    ]
    static let open = [Status](repeating: .ok, count: 5)
    static let locked = [Status](repeating: .locked, count: 5)
    static let withoutDevice: [Status] = [.ok, .ok, .locked, .locked, .locked]

    /// The statuses of loads of an item of each level.
    static func statuses(_ world: LockedVault, _ store: Store?) -> [Status] {
        all.map { world.loading($0.word, from: store) }
    }
}
