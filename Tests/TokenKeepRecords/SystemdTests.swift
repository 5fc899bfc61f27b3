import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A vault that is bound to systemd: what its service's replies can do to the vault.
@Suite(.enabled(if: geteuid() == 0, "the service must be root's")) struct SystemdTests {
    private let service: FakeCredentials
    private let world: LockedVault

    init() throws {
        service = try FakeCredentials()
        world = LockedVault(credentials: service.path)
    }

    private func bound(password: String? = "old") throws {
        if let password { try world.setPassword(password) }
        let chosen = try world.other().device.choose(nil) { () throws(TokenKeepError) in try SecretBytes(password ?? "")
        }
        #expect(chosen.provider == .systemd && chosen.passedOver == nil)
        for level in Levels.all where password != nil || level != .whenPasscodeSetThisDeviceOnly {
            try world.save(level.word, level: level)
        }
    }

    private func unlock(_ store: Store, _ password: String = "old") throws -> DeviceFault.Kind? {
        let problem = try store.unlock(SecretBytes(password)).deviceProblem
        let kind = try store.device.report().survey.fault?.kind
        #expect((problem == nil) == (kind == nil))
        return kind
    }

    @Test(arguments: ["right", "public-key"]) func systemdOpensEveryLevel(reply: String) throws {
        service.reply(reply)
        try bound()
        #expect(Levels.statuses(world, nil) == Levels.open)
        #expect(try world.strength(.otherMachine, of: .afterFirstUnlockThisDeviceOnly) == .enforced)
        #expect(try world.strength(.otherMachine) == .none)
        try world.store.lock()
        #expect(Levels.statuses(world, world.other()) == Levels.locked)
        #expect(try unlock(world.other()) == nil)
        #expect(Levels.statuses(world, world.other()) == Levels.open)
        let survey = try world.store.device.report().survey
        #expect(survey.available == [.systemd] && survey.way == nil && survey.maker == nil)
    }

    /// The fake refuses a call with other members.
    @Test func anUnlockDecryptsOnceAndALoadNever() throws {
        try bound()
        let (store, count) = (world.elsewhere(), service.calls.count)
        try store.unlock(SecretBytes("old"))
        #expect(Levels.statuses(world, store) == Levels.open)
        #expect(Array(service.calls.dropFirst(count)) == ["Decrypt 0"])
    }

    @Test func withoutAPasswordSystemdIsAskedOnce() throws {
        try bound(password: nil)
        let (store, count) = (world.elsewhere(), service.calls.count)
        for level in Levels.all.prefix(2) { #expect(world.loading(level.word, from: store) == .ok) }
        #expect(service.calls.count == count)
        for level in Levels.all.prefix(4) { #expect(world.loading(level.word, from: store) == .ok) }
        #expect(service.calls.count == count + 1)
    }

    @Test(arguments: ["host", "null", "unknown-type"]) func aCredentialWithoutATPMIsRefused(reply: String) throws {
        service.reply(reply)
        let fault = #expect(throws: DeviceFault.self) { try world.devices.identity(of: .systemd) }
        #expect(fault?.reason.hasSuffix("this version does not know") == (reply == "unknown-type"))
        try world.setPassword("old")
        let header = world.file("header")
        let password = { () throws(TokenKeepError) in try SecretBytes("old") }
        let status = LockedVault.status { _ = try world.other().device.choose(.systemd, password: password) }
        #expect(status == .unavailable && world.file("header") == header)
        #expect(try world.other().device.report().survey.available.isEmpty)
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        let chosen = try world.other().device.choose(nil, password: password)
        #expect(chosen.provider == .machineKey && chosen.passedOver == nil)
    }

    /// As far as the vault's own credential is concerned.
    @Test func aCredentialWithoutATPMIsNotDecrypted() throws {
        let types: [[UInt8]] = [[0x55, 0xb9], [0x05, 0x84], []]
        for type in types {
            let fault = #expect(throws: DeviceFault.self) {
                try world.devices.systemd.decrypt(type + [UInt8](repeating: 0, count: 200), until: Devices.deadline)
            }
            #expect(fault?.kind == .other)
        }
        #expect(service.calls.isEmpty)
    }

    private static let wrong = [
        "garbage", "empty", "array", "no-parameters", "other-member", "number", "array-member", "parameters-text",
        "twice",
        "two-objects", "deep", "error-number", "error-null", "error-escape", "error-long", "base64", "base64-lines",
        "base64-url", "short", "long", "another", "cut", "huge", "error io.systemd.System",
    ]

    /// The budget keeps a silent service from costing more than 2 s: one that says anything costs less.
    @Test(arguments: wrong) func aWrongReplyLocksTheDevicesLevelsAlone(reply: String) throws {
        try bound()
        service.reply(reply)
        let store = world.elsewhere()
        #expect(try store.unlock(SecretBytes("old")).deviceProblem != nil)
        #expect(Levels.statuses(world, store) == Levels.withoutDevice)
        service.reply("right")
        #expect(try store.unlock(SecretBytes("old")).deviceProblem == nil)
        #expect(Levels.statuses(world, store) == Levels.open)
    }

    @Test(arguments: wrong.filter { $0 != "another" }) func aWrongReplyBindsNothing(reply: String) throws {
        try world.save("one")
        let header = world.file("header")
        service.reply(reply)
        let status = LockedVault.status {
            _ = try world.other().device.choose(.systemd) { () throws(TokenKeepError) in try SecretBytes("") }
        }
        #expect(status == .unavailable && world.file("header") == header)
    }

    /// A credential that does not open again would lose the items that are saved at once.
    @Test func aCredentialIsDecryptedBeforeItIsTrusted() throws {
        try world.setPassword("old")
        let header = world.file("header")
        service.reply("another")
        let status = LockedVault.status {
            _ = try world.other().device.choose(.systemd) { () throws(TokenKeepError) in try SecretBytes("old") }
        }
        #expect(status == .unavailable && world.file("header") == header)
    }

    @Test func aReplyWithoutEndIsNotReadWhole() throws {
        try bound()
        service.reply("huge")
        #expect(try world.elsewhere().unlock(SecretBytes("old")).deviceProblem == "systemd gave a malformed reply")
        #expect(Patience.wait { service.taken != nil })
        #expect(try #require(service.taken) < 1_000_000)
    }

    private static let errors: [(String, DeviceFault.Kind)] = [
        ("io.systemd.Credentials.KeyBelongsToOtherTPM", .other), ("io.systemd.Credentials.BadFormat", .other),
        ("io.systemd.Credentials.BadScope", .other), ("io.systemd.Credentials.NameMismatch", .other),
        ("io.systemd.Credentials.UnexpectedPCRState", .silent),
        ("io.systemd.Credentials.CantFindPCRSignature", .silent),
        ("io.systemd.Credentials.TPMInDictionaryLockout", .silent),
        ("io.systemd.Credentials.NullKeyNotAllowed", .silent), ("io.systemd.Credentials.NoSuchUser", .absent),
        ("org.varlink.service.InterfaceNotFound", .absent), ("org.varlink.service.MethodNotFound", .absent),
        ("org.varlink.service.MethodNotImplemented", .absent), ("io.systemd.System", .silent),
        ("org.varlink.service.InvalidParameter", .silent), ("not a name", .silent),
    ]

    /// Only errors by which the device is another one advise to give the items up.
    @Test(arguments: errors) func eachErrorIsAFault(error: String, kind: DeviceFault.Kind) throws {
        try bound(password: nil)
        service.reply("error " + error)
        #expect(try world.elsewhere().device.report().survey.fault?.kind == kind)
    }

    /// As systemd 257 replies after another value of PCR 7, and after the TPM was cleared.
    @Test(arguments: [
        (EPERM, "systemd bound the vault's secret to another state of the firmware (PCRs)"),
        (ENOTRECOVERABLE, "the TPM does not open systemd's credential: it failed, was cleared, or is another one"),
        (EIO, "systemd refuses with the error 5 of the system"),
    ])
    func anErrorOfTheSystemIsNoOtherDevice(number: Int32, reason: String) throws {
        try bound(password: nil)
        service.reply("errno \(number)")
        let fault = try world.elsewhere().device.report().survey.fault
        #expect(fault?.kind == .silent && fault?.reason == reason)
    }

    @Test func anotherUsersServiceIsRefused() throws {
        try bound()
        let squatter = try FakeCredentials(user: 65534)
        let store = world.elsewhere(credentials: squatter.path)
        #expect(try store.unlock(SecretBytes("old")).deviceProblem?.hasSuffix("is not root's") == true)
        #expect(Levels.statuses(world, store) == Levels.withoutDevice)
        // It got no byte.
        #expect(Patience.wait { !squatter.calls.isEmpty })
        #expect(Set(squatter.calls) == ["nothing 0"])
    }

    @Test func anotherMachineOpensTheOtherLevels() throws {
        try bound()
        let other = try FakeCredentials()
        let store = world.elsewhere(credentials: other.path)
        #expect(try unlock(store) == .other)
        #expect(Levels.statuses(world, store) == Levels.withoutDevice)
        #expect(try unlock(world.elsewhere(credentials: world.directory.path + "/nothing")) == .absent)
    }

    @Test func theReportNamesTheFirmwaresState() throws {
        service.reply("pcr-7")
        try bound()
        #expect(try world.other().device.identity()?.registers == [7])
        for blob in [[], [UInt8](repeating: 0xef, count: 200)] {
            #expect(SystemdCredentials.registers(of: blob).isEmpty)
        }
        let head: [UInt8] = [
            0xef, 0x4a, 0xc1, 0x36, 0x79, 0xa9, 0x48, 0x0e, 0xa7, 0xdb, 0x68, 0x89, 0x7f, 0x9f, 0x16, 0x5d,
        ]
        for length in 16...300 {
            for byte in [UInt8(0), 1, 12, 0xff] {
                let blob = head + [UInt8](repeating: byte, count: length - 16)
                #expect(SystemdCredentials.registers(of: blob).count <= 64)
            }
        }
    }

    @Test func theVaultMovesToAMachineKeyAndBack() throws {
        try bound()
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        for provider in [DeviceProvider.machineKey, .systemd] {
            let result = try world.other().device.rebind(
                provider, isDestroying: false, password: { () throws(TokenKeepError) in try SecretBytes("old") },
                lost: { _, _ in })
            #expect(result.provider == provider)
            #expect(Levels.statuses(world, world.other()) == Levels.open)
            let expected: ProtectionStrength = provider == .systemd ? .enforced : .advisory
            #expect(try world.strength(.otherMachine, of: .afterFirstUnlockThisDeviceOnly) == expected)
        }
    }

    @Test func theTPMGoesBeforeSystemdAndSystemdBeforeTheMachineKey() throws {
        #expect(DeviceProvider.supported == [.tpm2, .systemd, .machineKey])
        let tpm = try FakeTPM()
        let world = LockedVault(tpm: tpm.places, credentials: service.path)
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        #expect(try world.other().device.report().survey.available == [.tpm2, .systemd, .machineKey])
        let password = { () throws(TokenKeepError) in try SecretBytes("old") }
        tpm.reply(FakeTPM.reply(status: 3, reason: 3))
        let chosen = try world.other().device.choose(nil, password: password)
        #expect(chosen.provider == .systemd && chosen.passedOver?.reason == "the TPM is busy")
        service.reply("silence")
        let next = try world.other().device.rebind(nil, isDestroying: true, password: password, lost: { _, _ in })
        #expect(next.provider == .machineKey && next.passedOver?.reason == "the TPM is busy")
        tpm.reply(nil)
        let best = try world.other().device.rebind(nil, isDestroying: false, password: password, lost: { _, _ in })
        #expect(best.provider == .tpm2 && best.passedOver == nil)
    }
}
