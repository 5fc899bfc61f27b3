import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A vault that is bound to a machine key: its levels open on that machine, and a device's fault touches no other level.
@Suite(.enabled(if: LockedVault.mayBind, "a machine key must be root's")) struct DeviceTests {
    private let world = LockedVault()
    private static let levels: [AccessLevel] = [
        .whenUnlocked, .afterFirstUnlock, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly,
        .whenPasscodeSetThisDeviceOnly,
    ]

    private func bound() throws {
        try world.setPassword("old")
        try world.bind("old")
        for level in Self.levels { try world.save(level.word, level: level) }
    }

    /// The statuses of loads of all levels.
    private func statuses(_ store: Store? = nil) -> [Status] {
        Self.levels.map { world.loading($0.word, from: store) }
    }

    private let key = [UInt8](repeating: 1, count: 32)
    private static let all = [Status](repeating: .ok, count: 5)
    private static let withoutDevice: [Status] = [.ok, .ok, .locked, .locked, .locked]

    @Test func aDeviceThatAnswersOpensEveryLevel() throws {
        try bound()
        #expect(statuses() == Self.all)
        try world.store.lock()
        #expect(statuses(world.other()) == [Status](repeating: .locked, count: 5))
        #expect(try world.other().unlock(SecretBytes("old")).deviceProblem == nil)
        #expect(statuses(world.other()) == Self.all)
        try world.store.lock(.screen)
        #expect(statuses(world.other()) == [.locked, .ok, .locked, .ok, .locked])
    }

    @Test(arguments: [nil, [UInt8](repeating: 2, count: 32), [UInt8]([1, 2, 3])] as [[UInt8]?])
    func withoutTheDeviceTheOtherLevelsOpen(other: [UInt8]?) throws {
        try bound()
        try world.store.lock()
        unlink(world.devices.machineKeyPath)
        if let other { _ = world.directory.writeMachineKey(other) }
        let header = world.file("header")
        #expect(try world.other().unlock(SecretBytes("old")).deviceProblem != nil)
        #expect(statuses(world.other()) == Self.withoutDevice)
        try world.save("late", in: world.other())
        #expect(LockedVault.status { try world.save("late 4", level: .afterFirstUnlockThisDeviceOnly) } == .locked)
        // A change that would lose the keys of the device changes nothing.
        for change in changes { #expect(LockedVault.status(change) == .unavailable) }
        #expect(world.file("header") == header)
        _ = world.directory.writeMachineKey(key)
        try world.other().unlock(SecretBytes("old"))
        #expect(statuses(world.other()) == Self.all)
    }

    private var changes: [() throws -> Void] {
        [
            { try world.changePassword(from: "old", to: "new", isCompromised: false, world.other()) },
            { try world.changePassword(from: "old", to: "new", isCompromised: true, world.other()) },
            { try world.removePassword("old", world.other()) },
            { _ = try world.other().passwords.createRecoveryCode(password: SecretBytes("old")) },
        ]
    }

    @Test func changesOfThePasswordKeepTheLevels() throws {
        try bound()
        try world.changePassword(from: "old", to: "new", isCompromised: false, world.other())
        #expect(statuses(world.other()) == Self.all)
        try world.changePassword(from: "new", to: "newer", isCompromised: true, world.other())
        #expect(statuses(world.other()) == Self.all)
        #expect(LockedVault.status { try world.removePassword("newer", world.other()) } == .policy)
        _ = try world.other().passwords.remove(SecretBytes("newer"), isDestroying: true)
        #expect(statuses(world.elsewhere()) == [.ok, .ok, .ok, .ok, .notFound])
        try world.setPassword("again")
        #expect(statuses(world.other()) == [.ok, .ok, .ok, .ok, .notFound])
    }

    @Test func aRecoveryCodeOpensAllLevelsButThatOfThePasscode() throws {
        try bound()
        let code = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
        _ = try world.other().passwords.recover(code: code, newPassword: SecretBytes("new"))
        #expect(statuses(world.other()) == [.ok, .ok, .ok, .ok, .corrupt])
        try world.changePassword(from: "new", to: "newer", isCompromised: true, world.other())
        #expect(statuses(world.other()) == [.ok, .ok, .ok, .ok, .corrupt])
    }

    @Test func aLostDeviceIsGivenUp() throws {
        try bound()
        let code = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
        try world.store.lock()
        _ = world.directory.writeMachineKey([UInt8](repeating: 2, count: 32))
        var lost: [String] = []
        func rebind(_ isDestroying: Bool) throws {
            _ = try world.other().device.rebind(
                nil, isDestroying: isDestroying, password: { () throws(TokenKeepError) in try SecretBytes("old") },
                lost: { names, _ in lost = names.map(\.account) })
        }
        #expect(LockedVault.status { try rebind(false) } == .policy)
        #expect(lost == Self.levels.filter(\.needsDevice).map(\.word).sorted())
        #expect(statuses(world.other()) == [.locked, .locked, .locked, .locked, .locked])
        try rebind(true)
        #expect(statuses(world.other()) == [.ok, .ok, .notFound, .notFound, .notFound])
        try world.save("new", level: .whenPasscodeSetThisDeviceOnly, in: world.other())
        try world.store.lock()
        try world.other().unlock(SecretBytes("old"))
        #expect(world.loading("new", from: world.other()) == .ok)
        // The recovery code opens the present levels still, and says nothing of the device.
        _ = try world.other().passwords.recover(code: code, newPassword: SecretBytes("new"))
        #expect(statuses(world.other()) == [.ok, .ok, .notFound, .notFound, .notFound])
    }

    @Test func aForgottenPasswordOfALostDevice() throws {
        try bound()
        let code = try world.other().passwords.createRecoveryCode(password: SecretBytes("old"))
        try world.store.lock()
        unlink(world.devices.machineKeyPath)
        func recover(_ isDestroying: Bool) throws {
            _ = try world.other().passwords.recover(
                code: code, newPassword: SecretBytes("new"), isDestroying: isDestroying)
        }
        #expect(LockedVault.status { try recover(false) } == .unavailable)
        try recover(true)
        #expect(statuses(world.other()) == [.ok, .ok, .notFound, .notFound, .notFound])
        #expect(try world.records.open()?.keys.header.device == nil)
    }

    @Test func theReportSaysWhatTheDeviceDoes() throws {
        try bound()
        #expect(try world.strength(.otherMachine, of: .afterFirstUnlockThisDeviceOnly) == .advisory)
        #expect(try world.strength(.otherMachine) == .none)
        #expect(try world.store.device.report().survey.fault == nil)
        unlink(world.devices.machineKeyPath)
        #expect(try world.store.device.report().survey.fault?.kind == .absent)
        _ = world.directory.writeMachineKey([UInt8](repeating: 2, count: 32))
        #expect(try world.store.device.report().survey.fault?.kind == .other)
    }

    @Test func aMachineKeyThatOthersMayReplaceIsRefused() throws {
        let path = world.directory.writeMachineKey(key)
        #expect(throws: Never.self) { try MachineKey.read(path) }
        chmod(path, 0o644)
        #expect(throws: DeviceFault.self) { try MachineKey.read(path) }
        chmod(path, 0o444)
        chown(path, 65534, 0)
        #expect(throws: DeviceFault.self) { try MachineKey.read(path) }
        chown(path, 0, 0)
        rename(path, path + ".real")
        symlink(path + ".real", path)
        #expect(throws: DeviceFault.self) { try MachineKey.read(path) }
    }

    @Test func aMachineKeyIsMadeOnce() throws {
        let path = world.directory.path + "/made/machine-key"
        #expect(try MachineKey.make(at: path))
        let made = world.directory.read("made/machine-key")
        #expect(made?.count == 32)
        #expect(try !MachineKey.make(at: path))
        #expect(
            world.directory.read("made/machine-key") == made && world.directory.names(in: "made") == ["machine-key"])
        #expect(throws: Never.self) { try MachineKey.read(path) }
    }
}
