import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Whoever has the keyfile can replace a record's state, but makes no pending write that the vault takes for its own.
@Suite struct ForgedWriteTests {
    private let world = LockedVault()

    private func name(_ account: String = "a") throws -> ItemName { try ItemName(service: "s", account: account) }

    private func write(_ module: String = "secret-service") throws -> PendingWrite {
        let vault = try #require(try world.records.open())
        return PendingWrite(
            module: module, machine: vault.keys.journal.machine(world.records.machine.bytes), kind: .write, since: .now)
    }

    /// The vault as the keyfile alone opens it.
    private func forger() throws -> KeyRing {
        let keyfile = try world.file("keyfile").lent { bytes throws(FormatFault) in try Keyfile.parse(bytes) }
        return try KeyRing.open(
            headerFile: world.file("header"), keyfile: keyfile, era: keyfile.era,
            residentKeys: ClassKeyStore(obstacle: "another machine"))
    }

    /// Replaces the state of an item's record, and adds the hint.
    private func forge(_ body: (inout StateFields) -> Void) throws {
        let keys = try forger()
        let fileName = keys.fileName(of: try name())
        let path = "records/" + Hexadecimal.text(fileName)
        let file = try RecordFile(world.file(path), name: fileName, keys: keys)
        var state = try file.openState()
        body(&state)
        world.write(try file.replacing(state), to: path)
        mkdir("\(world.directory.path)/\(world.era)/pending", 0o700)
        world.write([], to: "pending/" + Hexadecimal.text(fileName))
    }

    private func pending(_ store: Store? = nil) throws -> [PendingWrite] {
        try (store ?? world.other()).records.record(of: name(), world.call)?.pending ?? []
    }

    private func savePending() throws {
        var item = try world.records.begin(name(), world.call)
        var details = ItemDetails(
            name: try name(), label: "x", createdAt: .now, modifiedAt: .now, module: "vault")
        let secret = try SecretBytes("secret")
        details.version = item.keys.versions.version(of: details, secret: secret)
        try item.apply(.parts(value: TokenItem(details: details, secret: secret), pending: [write()]))
    }

    @Test func aForgedWriteIsPassedOverAndReported() throws {
        try world.save("a")
        try world.setPassword()
        let part = try write()
        try forge { $0.pending = [part] }
        #expect(try pending().isEmpty)
        let text =
            "records/\(try world.recordFile(of: "a")) has a pending write that the vault did not make: it is passed over"
        #expect(try world.records.journal.pendingRecords().problem == TokenKeepError(.corrupt, text))
        #expect(world.loading("a") == .ok)
        try world.records.journal.removeStaleHints()
        #expect(try world.records.journal.pendingRecords().problem != nil, "reports go on naming it")
        try world.save("a")
        #expect(try world.records.journal.pendingRecords().problem == nil)
    }

    @Test func aWriteOfTheVaultIsItsOwn() throws {
        try world.setPassword()
        try savePending()
        #expect(try pending().map(\.kind) == [.write])
        // It stays while the vault is locked, and through a change of keys.
        try world.store.lock()
        #expect(try pending().map(\.kind) == [.write])
        try world.unlock()
        try world.changePassword(isCompromised: true)
        #expect(try pending().map(\.kind) == [.write])
        try world.removePassword("new")
        #expect(try pending().map(\.kind) == [.write])
        #expect(try world.records.journal.pendingRecords().problem == nil)
    }

    /// The right parts of a state cannot be put beside a later value, another module or another machine.
    @Test(arguments: ["value", "module", "machine", "twice", "no MAC"]) func aWriteIsBound(to what: String) throws {
        try world.setPassword()
        try savePending()
        var state = StateFields(changedAt: .now)
        try forge { state = $0 }
        if what == "value" { try world.save("a", "secret") }
        let more = try write("another")
        try forge {
            $0 = state
            switch what {
            case "module": $0.pending[0].module = "another"
            case "machine": $0.pending[0].machine[0] ^= 1
            case "twice": $0.pending.append(more)
            case "no MAC": $0.writesMAC = nil
            default: break
            }
        }
        #expect(try pending().isEmpty)
        #expect(world.loading("a") == .ok)
    }

    /// What nobody could check while the vault was locked gives no value afterwards.
    @Test func aRecordThatWasReadWhileTheVaultWasLockedGivesNoValue() throws {
        try world.save("a")
        try world.setPassword()
        let part = try write()
        try forge { $0.pending = [part] }
        try world.store.lock()
        let record = try #require(try world.other().records.record(of: name(), world.call))
        try world.unlock()
        #expect(throws: TokenKeepError(.locked, "")) { try record.item() }
        #expect(try pending().isEmpty)
    }

    @Test func aChangeOfKeysMakesNoForgedWriteRight() throws {
        try world.save("a")
        try world.setPassword()
        let part = try write()
        try forge { $0.pending = [part] }
        try world.changePassword(isCompromised: true)
        #expect(try pending().isEmpty)
        #expect(try !world.records.journal.mayHavePending())
    }

    @Test func aWriteInATombstoneIsPassedOver() throws {
        try world.save("a")
        try world.setPassword()
        let keys = try forger()
        let fileName = keys.fileName(of: try name())
        let state = StateFields(changedAt: .now, pending: [try write()], name: try name())
        world.write(
            try RecordWriter.tombstone(name: fileName, state: state, keys: keys),
            to: "records/" + Hexadecimal.text(fileName))
        #expect(try pending().isEmpty)
        #expect(world.loading("a") == .notFound)
    }
}
