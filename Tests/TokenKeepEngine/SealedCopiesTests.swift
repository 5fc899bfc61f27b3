import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Sealed copies that records name, although the copies are gone or replaced by another program's item.
@Suite struct SealedCopiesTests {
    private let world: SealingWorld

    init() throws { world = try SealingWorld() }

    private func change(to new: String) throws {
        _ = try world.store.passwords.change(from: world.password, to: SecretBytes(new), isCompromised: true)
    }

    private func remove(isDestroying: Bool = false, in store: Store? = nil) throws {
        _ = try (store ?? world.store).passwords.remove(world.password, isDestroying: isDestroying)
    }

    /// Saves another program's item of the same name, later than every item before.
    private func saveTwin(_ secret: String, after time: UnixTime = UnixTime(0)) throws {
        repeat {
            _ = try world.keyring.bus.secretTool(
                "store", "--label", "theirs", "service", "example.com", "username", "ann", input: secret)
        } while UnixTime.now.rawValue <= time.rawValue + 1
    }

    private func deleteRecords() throws {
        for record in world.directory.names(in: "vault/current/records") {
            try #require(unlink(world.directory.path + "/vault/current/records/" + record) == 0)
        }
    }

    @Test func aRemovalThatFindsNothingRemovesTheRecord() throws {
        try world.save("one", level: .whenUnlocked)
        world.stopService()
        _ = try world.clear()
        try world.keyring.restart()
        try world.tamper("item.delete_sync(None)")  // as if a removal arrived late
        #expect(try world.store.pendingChanges.sync().left == 0)
        #expect(world.directory.names(in: "vault/current/records").isEmpty)
        try change(to: "new")
    }

    /// A note about an earlier sealed item does not make the present plain item require protection.
    @Test func aPlainItemIsNotDestroyedForAnEarlierRequirement() throws {
        try world.save("one", flags: .requireEnforced)
        try world.tamper("item.delete_sync(None)")
        try world.save("plain")
        world.stopService()
        try world.save("plain two", level: .afterFirstUnlock, in: world.open())
        try world.keyring.restart()
        #expect(try world.store.pendingChanges.sync().left == 0)
        try remove(isDestroying: true)
        #expect(try world.load() == "plain two" && world.plain() == "plain two")
    }

    @Test func whatIsNotNotedSurvivesTheRemovalOfThePassword() throws {
        try world.save("one", level: .whenUnlocked)
        try deleteRecords()
        try remove(in: world.open())
        #expect(try world.load(in: world.open()) == "one" && world.sealed() == "")
        #expect(try world.clear() && world.open().list().items.isEmpty)
    }

    @Test func anotherMachinesHolderIsNotServedByWhatIsHere() throws {
        try world.save("one", level: .whenUnlocked)
        let opened = try #require(try world.store.records.open())
        let records = SealedRecords(opened)
        let name = try ItemName(service: "example.com", account: "ann")
        let machine = [UInt8](0..<16)
        let here = try #require(try records.copies(of: name)?.holders.first)
        try CopyChanges(opened).change(of: name) {
            $0?.holders.append(
                SealedCopies.Holder(
                    module: "secret-service", machine: machine, keyIDs: here.keyIDs, fingerprints: here.fingerprints))
        }
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.hasRetiringKeys() && world.load() == "one")
        try world.save("two")
        let present = SealedRecords(try #require(try world.store.records.open()))
        #expect(try present.copies(of: name)?.holders.contains { $0.machine == machine } == true)
        // A clear by the user gives up the missing item.
        #expect(try world.clear())
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys())
    }

    @Test func aSignOutReachesSealedItemsWhileThePasswordGoes() throws {
        try world.save("one", level: .whenUnlocked)
        world.stopService()
        #expect(throws: TokenKeepError(.unavailable, "")) { try remove() }
        try world.keyring.restart()
        #expect(try world.hasRetiringKeys())
        #expect(try world.store.list(service: "example.com").items.count == 1)
        #expect(try world.open().clear(service: "example.com") == 1)
        #expect(try world.sealed() == "")
    }

    /// Another program's item does not prove that TokenKeep's item is gone, so the item's key must stay.
    @Test func anotherProgramsItemStandsForNoSealedOne() throws {
        try world.save("one", level: .whenUnlocked)
        let sealed = try world.sealed()
        try world.tamper("item.delete_sync(None)")  // the sealed item may be in another collection, for example
        try saveTwin("theirs")
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.hasRetiringKeys())
        _ = try world.keyring.bus.secretTool(
            "store", "--label", "ann", "tokenkeep:service", "example.com", "tokenkeep:account", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "when-unlocked", "tokenkeep:encoding", "base64",
            "tokenkeep:sealed", try #require(try VaultSealer(world.store.records).vaultID()), input: sealed)
        #expect(try world.load() == "one")
    }

    @Test func anotherProgramsItemIsNoNewerValueOfOneWithRequirements() throws {
        try world.save("seed", account: "bob", level: .whenUnlocked)
        world.stopService()
        try world.save("one", flags: .requireEnforced)
        let saved = UnixTime.now
        try world.keyring.restart()
        try saveTwin("theirs", after: saved)
        #expect(try world.store.pendingChanges.sync().left == 0)
        #expect(try world.load() == "one" && world.plain() == "theirs" && world.sealed() != "")
    }

    /// The record is damaged, so only the module knows the requirement. A save fails until the module answers.
    @Test func aDamagedRecordLowersNoRequirement() throws {
        try world.save("one", flags: .requireEnforced)
        world.stopService()
        try world.save("two")
        let record = "vault/current/records/" + (try #require(world.directory.names(in: "vault/current/records").first))
        let bytes = try #require(world.directory.read(record))
        world.directory.write(Array(bytes.dropLast()) + [~bytes[bytes.count - 1]], to: record)
        for level in [nil, AccessLevel.afterFirstUnlock] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try world.save("three", level: level, in: world.open()) }
        }
        try world.keyring.restart()
        #expect(throws: TokenKeepError(.policy, "")) {
            try world.save("three", level: .afterFirstUnlock, in: world.open())
        }
        try world.save("four", in: world.open())
        _ = try world.open().pendingChanges.sync()
        #expect(try world.plain() == "" && world.load() == "four")
    }

    @Test func anImportLowersNoRequirement() throws {
        try world.save("one", flags: .requireEnforced)
        world.stopService()
        var request = try SaveRequest(
            name: ItemName(service: "example.com", account: "ann"), secret: SecretBytes("imported"),
            accessLevel: .afterFirstUnlock)
        request.inherited = ItemDetails(name: request.name, label: "l", module: "import")
        #expect(throws: TokenKeepError(.policy, "")) { try world.open().save(request) }
        try world.keyring.restart()
        _ = try world.open().pendingChanges.sync()
        #expect(try world.plain() == "" && world.load() == "one")
    }
}
