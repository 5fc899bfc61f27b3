import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// The vault's anchor in the TPM, and older headers that are put back. Each ``LockedVault/elsewhere(_:)`` is a restart.
@Suite(.enabled(if: geteuid() == 0, "the helper must be root's")) struct TPMAnchorTests {
    private let tpm: FakeTPM
    private let world: LockedVault
    private static let (secret, anchor): (UInt8, UInt8) = (1, 2)
    private static let (makeIndex, readIndex, writeIndex, list): (UInt8, UInt8, UInt8, UInt8) = (4, 5, 7, 8)

    init() throws {
        tpm = try FakeTPM()
        world = LockedVault(tpm: tpm.places)
    }

    private func unlocking(_ password: String = "old", isAcceptingOlder: Bool = false) -> Status {
        LockedVault.status {
            try world.elsewhere().unlock(SecretBytes(password), isAcceptingOlder: isAcceptingOlder)
        }
    }

    /// The header of before a change of the password, and the one of afterwards.
    private func headers() throws -> (old: [UInt8], new: [UInt8]) {
        let old = world.file("header")
        try world.changePassword(from: "old", to: "new", world.other())
        return (old, world.file("header"))
    }

    @Test func anOlderHeaderIsRefusedAfterARestart() throws {
        try world.bindToTPM()
        #expect(tpm.indices.values.sorted() == [Self.secret, Self.anchor])
        let (old, new) = try headers()
        world.putHeader(old)
        #expect(unlocking("old") == .corrupt)
        for isCompromised in [false, true] {
            let status = LockedVault.status {
                try world.changePassword(from: "old", to: "x", isCompromised: isCompromised, world.elsewhere())
            }
            #expect(status == .corrupt)
        }
        #expect(world.file("header") == old && world.directory.names(in: world.era + "/records").count == 5)
        world.putHeader(new)
        #expect(unlocking("new") == .ok)
        #expect(unlocking("old") == .denied)
    }

    @Test func anOlderHeaderThatTheUserAcceptsIsTheOneInForce() throws {
        try world.bindToTPM()
        let (old, new) = try headers()
        world.putHeader(old)
        #expect(unlocking("old", isAcceptingOlder: true) == .ok)
        #expect(unlocking("old") == .ok)
        world.putHeader(new)
        #expect(unlocking("new") == .corrupt)
    }

    @Test func anOlderEraIsRefused() throws {
        try world.bindToTPM()
        let old = TemporaryDirectory()
        func copy(_ from: String, _ to: String) throws {
            #expect(try ChildProcess.run("/bin/cp", ["-a", from, to], environment: [:]).status == 0)
        }
        try copy(world.path, old.path + "/vault")
        try world.removePassword("old", isDestroying: true, world.other())
        #expect(tpm.indices.values.sorted() == [Self.anchor])
        #expect(try ChildProcess.run("/bin/rm", ["-rf", world.path], environment: [:]).status == 0)
        try copy(old.path + "/vault", world.path)
        #expect(unlocking("old") == .corrupt)
    }

    /// A TPM that is silent, or whose answers are forged, costs the check alone.
    @Test func withoutAnAuthenticAnswerTheFilesAloneCount() throws {
        try world.bindToTPM()
        let (old, _) = try headers()
        world.putHeader(old)
        for (operation, reason): (UInt8, UInt8) in [
            (Self.list, 2), (Self.list, 1), (Self.readIndex, 2), (Self.readIndex, 6), (Self.readIndex, 9),
            (Self.readIndex, 10),
        ] {
            tpm.refuse(operation, reason: reason)
            let store = world.elsewhere()
            try store.unlock(SecretBytes("old"))
            #expect(Levels.statuses(world, store).prefix(2) == [.ok, .ok])
            tpm.refuse(operation, reason: nil)
        }
        #expect(unlocking("old") == .corrupt)
        tpm.dropIndices(Self.anchor)
        #expect(unlocking("old") == .ok)
    }

    @Test func aTPMThatTakesNoAnchorGetsNoNewHeader() throws {
        try world.bindToTPM()
        let header = world.file("header")
        for operation in [Self.writeIndex, Self.readIndex] {
            tpm.refuse(operation, reason: 2)
            #expect(LockedVault.status { try world.changePassword(world.other()) } == .unavailable)
            #expect(world.file("header") == header)
            tpm.refuse(operation, reason: nil)
            #expect(unlocking("old") == .ok)
        }
    }

    @Test func withoutAnIndexThereIsNoAnchorAndTheReportSaysSo() throws {
        tpm.refuse(Self.makeIndex, reason: 11)
        try world.bindToTPM()
        let (old, _) = try headers()
        world.putHeader(old)
        #expect(unlocking("old") == .ok)
        #expect(try note()?.contains("not noticed: no index") == true)
        tpm.refuse(Self.makeIndex, reason: nil)
        try world.changePassword(from: "old", to: "new", world.elsewhere())
        #expect(tpm.indices.values.sorted() == [Self.secret, Self.anchor])
        world.putHeader(old)
        #expect(unlocking("old") == .corrupt)
    }

    private func note() throws -> String? {
        var devices = Devices()
        devices.tpm.places = tpm.places
        return devices.anchorRemark(of: try #require(try world.elsewhere().records.open()))
    }

    @Test func theReportNamesTheAnchor() throws {
        try world.bindToTPM()
        #expect(try note() == "; the TPM refuses an older header")
        tpm.refuse(Self.list, reason: 2)
        #expect(try note()?.hasSuffix("not noticed: the TPM did not answer in time") == true)
    }

    /// Both headers of a change are right until its end; then the new one alone.
    @Test func aChangeMayEndAtAnyStep() throws {
        try world.bindToTPM()
        let (old, new) = try headers()
        let vault = try #require(try world.elsewhere().records.open())
        let names = try [old, new].map { file in
            HeaderAnchor.Mark(try file.lent { bytes throws(FormatFault) in try Header.parse(bytes) }, file: file)
        }
        tpm.write(
            HeaderAnchor(vaultID: vault.keys.vaultID, present: names[0], next: names[1]).serialized(),
            toIndexOf: Self.anchor)
        world.putHeader(old)
        #expect(unlocking("old") == .ok)
        world.putHeader(new)
        #expect(unlocking("new") == .ok)
        world.putHeader(old)
        #expect(unlocking("old") == .corrupt, "the unlock has ended the change")
    }

    @Test func anotherDeviceDestroysTheAnchor() throws {
        try world.bindToTPM()
        _ = world.directory.writeMachineKey([UInt8](repeating: 1, count: 32))
        func rebind(_ provider: DeviceProvider) throws -> [UInt32] {
            try world.other().device.rebind(
                provider, isDestroying: false, password: { () throws(TokenKeepError) in try SecretBytes("old") },
                lost: { _, _ in }
            ).outcome.remainingIndices
        }
        #expect(try rebind(.machineKey) == [] && tpm.indices.isEmpty)
        #expect(try rebind(.tpm2) == [] && tpm.indices.count == 2)
        tpm.refuse(6, reason: 4)
        #expect(try rebind(.machineKey).count == 2 && tpm.indices.count == 2)
        // The old ones do not betray the vault when it comes back.
        tpm.refuse(6, reason: nil)
        _ = try rebind(.tpm2)
        #expect(tpm.indices.count == 2 && unlocking("old") == .ok)
        #expect(Levels.statuses(world, world.other()) == Levels.open)
    }

    /// As after a storage root key of another kind was made persistent.
    @Test func anotherPrimaryOfTheSameTPMKeepsTheAnchor() throws {
        try world.bindToTPM()
        let old = world.file("header")
        tpm.rename([0x00, 0x0b] + [UInt8](repeating: 8, count: 32))
        _ = try world.other().device.rebind(
            .tpm2, isDestroying: true, password: { () throws(TokenKeepError) in try SecretBytes("old") },
            lost: { _, _ in })
        #expect(tpm.indices.values.filter { $0 == Self.anchor }.count == 1 && unlocking("old") == .ok)
        tpm.rename([0x00, 0x0b] + [UInt8](repeating: 7, count: 32))
        world.putHeader(old)
        #expect(unlocking("old") == .corrupt)
    }

    @Test(arguments: [
        [], Array("TKANCHOR".utf8), [UInt8](repeating: 0, count: 128), [UInt8](repeating: 0xff, count: 128),
    ])
    func aMalformedAnchorCountsAsNone(_ bytes: [UInt8]) throws {
        try world.bindToTPM()
        tpm.write(bytes, toIndexOf: Self.anchor)
        #expect(unlocking("old") == .ok)
        guard bytes.count == HeaderAnchor.length else { return }
        // The next header replaces it.
        let (old, _) = try headers()
        world.putHeader(old)
        #expect(unlocking("old") == .corrupt)
    }
}
