import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// What the helper's replies can do to a vault, and what the helper learns.
@Suite(.enabled(if: geteuid() == 0, "the helper must be root's")) struct TPMHelperTests {
    private let tpm: FakeTPM
    private let world: LockedVault

    init() throws {
        tpm = try FakeTPM()
        world = LockedVault(tpm: tpm.places)
    }

    private static let malformed: [FakeHelper.Reply] = [
        .end, .bytes(Array("TKT1".utf8)), .bytes([UInt8](repeating: 0xff, count: 45)),
        .bytes(Array("TKT2".utf8) + [UInt8](repeating: 0, count: 9 + 32)),
        .bytes(Array("TKT1".utf8) + [UInt8](repeating: 0, count: 2048)),
        .bytes(Array("TKT1".utf8) + [UInt8](repeating: 0, count: 4092)),
        FakeTPM.reply(), FakeTPM.reply([UInt8](repeating: 1, count: 31)),
        FakeTPM.reply([UInt8](repeating: 1, count: 33)),
        FakeTPM.reply(status: 3), FakeTPM.reply(reason: 5), FakeTPM.reply(status: 3, reason: 200),
        FakeTPM.reply([UInt8](repeating: 1, count: 32)),  // another secret
    ]

    @Test(arguments: malformed.indices) func aMalformedReplyLocksTheDevicesLevelsAlone(_ number: Int) throws {
        try world.bindToTPM()
        tpm.reply(Self.malformed[number])
        let store = world.elsewhere()
        #expect(try store.unlock(SecretBytes("old")).deviceProblem != nil)
        #expect(Levels.statuses(world, store) == Levels.withoutDevice)
        tpm.reply(nil)
        #expect(try store.unlock(SecretBytes("old")).deviceProblem == nil)
        #expect(Levels.statuses(world, store) == Levels.open)
    }

    /// Each reason has a sentence; those that can be forged do not advise to give the device up.
    @Test func eachReasonIsAFault() throws {
        try world.bindToTPM()
        let device = try #require(try world.store.device.report().device)
        for reason in UInt8(1)...20 {
            tpm.reply(FakeTPM.reply(status: 3, reason: reason))
            let fault = try #require(world.devices.survey(for: device).fault)
            #expect((fault.kind == .other) == [5, 6, 8, 10].contains(reason), "\(fault)")
            #expect(!fault.reason.isEmpty)
        }
    }

    @Test func loadsDoNotAskTheTPM() throws {
        try world.bindToTPM()
        let store = world.elsewhere()
        try store.unlock(SecretBytes("old"))
        let count = tpm.requests.count
        #expect(Levels.statuses(world, store) == Levels.open)
        #expect(tpm.requests.count == count)
    }

    /// Without a password the first load of the device's levels asks; levels 1 and 2 never do.
    @Test func withoutAPasswordTheTPMIsAskedOnce() throws {
        try world.bindToTPM(password: nil)
        let (store, count) = (world.elsewhere(), tpm.requests.count)
        for level in Levels.all.prefix(2) { #expect(world.loading(level.word, from: store) == .ok) }
        #expect(tpm.requests.count == count)
        for _ in 0..<3 {
            for level in Levels.all.prefix(4) { #expect(world.loading(level.word, from: store) == .ok) }
        }
        #expect(tpm.requests.count == count + 1)
    }

    /// A request names the primary of the header; each name has an authValue of its own.
    @Test func anotherNameGetsAnotherAuthValue() throws {
        func authValue(_ name: [UInt8]) throws -> [UInt8] {
            let count = tpm.requests.count
            tpm.rename(name)
            let base = try SecretBytes(bytes: [UInt8](repeating: 3, count: 32))
            _ = try world.devices.bind(
                to: DeviceIdentity(provider: .tpm2, name: name), base: base, .keyfile,
                of: [UInt8](repeating: 9, count: 16))
            let request = tpm.requests[count]
            #expect(Array(request[7..<41]) == name)
            return Array(request[41..<73])
        }
        let one = try authValue([0x00, 0x0b] + [UInt8](repeating: 1, count: 32))
        let other = try authValue([0x00, 0x0b] + [UInt8](repeating: 2, count: 32))
        #expect(one != other)
        #expect(try authValue([0x00, 0x0b] + [UInt8](repeating: 1, count: 32)) == one)
    }

    /// A blob that does not open again would lose the items that are saved at once.
    @Test func aBlobIsOpenedBeforeItIsTrusted() throws {
        try world.setPassword("old")
        let header = world.file("header")
        let name = [0x00, 0x0b] + [UInt8](repeating: 7, count: 32)
        tpm.reply(FakeTPM.reply([1] + name))
        let status = LockedVault.status {
            _ = try world.other().device.choose(.tpm2) { () throws(TokenKeepError) in try SecretBytes("old") }
        }
        #expect(status == .unavailable && world.file("header") == header)
    }

    @Test func anotherUsersSocketIsRefused() throws {
        try world.bindToTPM()
        let directory = TemporaryDirectory()
        chmod(directory.path, 0o777)
        let path = directory.path + "/tpm2"
        let squatter = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import socket, sys
                listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                listener.bind(sys.argv[1])
                listener.listen()
                print("ready", flush=True)
                connection = listener.accept()[0]
                print(len(connection.recv(4096)), flush=True)
                """, path,
            ], environment: [:], user: 65534)
        #expect(try squatter.firstLine() == "ready")
        let store = world.elsewhere(TPMPlaces(socket: path))
        #expect(try store.unlock(SecretBytes("old")).deviceProblem?.hasSuffix("is not root's") == true)
        // It got no byte.
        #expect(try squatter.firstLine() == "0")
    }

    @Test(arguments: [
        ("exit 0", "tokenkeep-tpm2 ended without a reply"), ("kill -9 $$", "tokenkeep-tpm2 ended without a reply"),
        ("head -c 100000 /dev/zero", "tokenkeep-tpm2 gave a malformed reply"), ("", "cannot start"),
    ])
    func aFaultyProgramLocksTheDevicesLevelsAlone(script: String, reason: String) throws {
        try world.bindToTPM()
        let directory = TemporaryDirectory()
        if !script.isEmpty { directory.write(Array("#!/bin/sh\n\(script)\n".utf8), to: "program", mode: 0o700) }
        let store = world.elsewhere(TPMPlaces(program: directory.path + "/program", configuration: "none"))
        #expect(try store.unlock(SecretBytes("old")).deviceProblem?.hasPrefix(reason) == true)
        #expect(Levels.statuses(world, store) == Levels.withoutDevice)
    }

    /// A TPM that is there and does not answer is named when a weaker device takes its place.
    @Test func aWeakerDeviceNamesTheBetterOne() throws {
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        tpm.reply(FakeTPM.reply(status: 3, reason: 3))
        let chosen = try world.other().device.choose(nil) { () throws(TokenKeepError) in try SecretBytes("") }
        #expect(chosen.provider == .machineKey && chosen.passedOver?.reason == "the TPM is busy")
    }
}
