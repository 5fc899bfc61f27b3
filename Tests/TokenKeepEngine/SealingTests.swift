import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine

/// Items that require more protection than a Secret Service provides: the service gets sealed secrets.
@Suite struct SealingTests {
    private let world: SealingWorld

    init() throws { world = try SealingWorld() }

    @Test(arguments: [(AccessLevel.whenUnlocked, ItemFlags()), (.afterFirstUnlock, .requireEnforced)])
    func theServiceGetsCiphertextThatOthersDoNotFind(level: AccessLevel, flags: ItemFlags) throws {
        let outcome = try world.save("token one", level: level, flags: flags)
        #expect(outcome.module == "secret-service" && outcome.pendingModules.isEmpty)
        #expect(try world.plain() == "")
        let stored = try world.sealed()
        #expect(stored.hasPrefix("tokenkeep-base64:VEtSRUNPUk"), "the prefix of a record")
        let item = try world.open().load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "token one" && item.details.version == outcome.version)
        #expect(item.details.accessLevel == level && item.details.flags == flags)
        #expect(item.details.module == "secret-service")
        // A save without a level keeps the level, and the secret stays sealed.
        #expect(try world.save("token two").module == "secret-service")
        #expect(try world.plain() == "")
        #expect(try world.sealed() != stored)
        #expect(try world.load() == "token two" && world.load(in: world.open()) == "token two")
        #expect(try world.store.list().items.map(\.name.account) == ["ann"])
        #expect(try world.store.list(service: "example.com").items.map(\.name.account) == ["ann"])
        #expect(try world.store.list(service: "example.org").items.isEmpty)
        #expect(try world.clear())
        #expect(try world.sealed() == "")
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load() }
    }

    @Test func aPlainItemIsReplacedByASealedOneAndBack() throws {
        try world.save("plain")
        #expect(try world.plain() == "plain" && world.sealed() == "")
        try world.save("sealed", level: .whenUnlocked)
        #expect(try world.plain() == "" && world.sealed() != "")
        #expect(try world.load() == "sealed")
        try world.save("plain again", level: .afterFirstUnlock)
        #expect(try world.plain() == "plain again" && world.sealed() == "")
        #expect(try world.open().list().items.count == 1)
        #expect(try world.open().pendingChanges.report().entries.isEmpty)
    }

    @Test func aRequirementIsNotLowered() throws {
        try world.save("one", flags: .requireEnforced)
        for other in [world.store, try world.open()] {
            #expect(throws: TokenKeepError(.policy, "")) {
                try world.save("two", level: .afterFirstUnlock, in: other)
            }
        }
        #expect(try world.load() == "one" && world.plain() == "")
        // A lower level is also refused during an outage, in a store that never saw the item.
        world.stopService()
        let other = try world.open()
        #expect(throws: TokenKeepError(.policy, "")) { try world.save("three", level: .afterFirstUnlock, in: other) }
        #expect(try world.save("four", in: other).module == "vault")
        try world.keyring.restart()
        #expect(try other.pendingChanges.sync().left == 0)
        #expect(try world.plain() == "" && world.sealed() != "")
        let item = try world.open().load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "four" && item.details.flags == .requireEnforced)
    }

    /// If the record of a sealed item is unreadable, its requirement is unknown, and the item is not saved.
    @Test func aDamagedRecordOfASealedItemLowersNoRequirement() throws {
        try world.save("one", flags: .requireEnforced)
        let record = "vault/current/records/" + (try #require(world.directory.names(in: "vault/current/records").first))
        let bytes = try #require(world.directory.read(record))
        world.directory.write(bytes.dropLast() + [~bytes[bytes.count - 1]], to: record)
        world.stopService()
        for level in [nil, AccessLevel.afterFirstUnlock] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try world.save("two", level: level, in: world.open()) }
        }
        world.directory.write(bytes, to: record)
        try world.keyring.restart()
        #expect(try world.store.pendingChanges.sync().left == 0)
        let item = try world.open().load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "one" && item.details.flags == .requireEnforced)
        #expect(try world.plain() == "")
    }

    @Test func withoutItsKeyItIsLocked() throws {
        try world.save("one", level: .whenUnlocked)
        try world.save("other", account: "bob", flags: .requireEnforced)
        try world.store.lock(.screen)
        for store in [world.store, try world.open()] {
            #expect(throws: TokenKeepError(.locked, "")) { try world.load(in: store) }
            #expect(throws: TokenKeepError(.locked, "")) { try world.save("two", in: store) }
            // A save in several steps keeps the level as well.
            #expect(throws: TokenKeepError(.locked, "")) { try world.save("two", label: "another", in: store) }
        }
        #expect(try world.plain() == "")
        #expect(try world.load("bob") == "other", "the level after-first-unlock is open still")
        #expect(try world.store.list().items.count == 2)
        // A save with a lower level needs no key, nor does a clear.
        try world.save("three", level: .afterFirstUnlock)
        #expect(try world.plain() == "three" && world.sealed() == "")
        try world.store.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try world.load("bob") }
        #expect(try world.clear("bob"))
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
        try world.store.unlock(world.password)
        #expect(try world.load() == "three")
    }

    /// Another program's item never hides a sealed item, because the other program cannot have read the sealed item.
    @Test func anotherProgramsItemHidesNoSealedOne() throws {
        try world.save("ours", level: .whenUnlocked)
        let theirs = try world.keyring.bus.secretTool(
            "store", "--label", "theirs", "service", "example.com", "username", "ann", input: "theirs")
        #expect(theirs.status == 0)
        for store in [world.store, try world.open()] { #expect(try world.load(in: store) == "ours") }
        try world.save("ours again")
        #expect(try world.plain() == "theirs", "no secret that is to be sealed goes there")
        #expect(try world.load() == "ours again")
        try world.store.lock()
        for store in [world.store, try world.open()] {
            #expect(throws: TokenKeepError(.locked, "")) { try world.load(in: store) }
        }
        // The clear also removes the other program's item, so that no load finds a cleared token again.
        #expect(try world.clear())
        #expect(try world.plain() == "")
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load() }
    }

    /// A load returns the sealed item, so a conditional clear compares that item's version.
    @Test func aPlainItemBesideASealedOneChangesNoCondition() throws {
        let store = try world.open(stack: "any required secret-service")
        let version = try world.save("ours", level: .whenUnlocked, in: store).version
        try world.tamper(
            """
            collection = Secret.Collection.for_alias_sync(service, 'default', Secret.CollectionFlags.NONE, None)
            names = {'xdg:schema': 'org.tokenkeep.Item', 'service': 'example.com', 'username': 'ann',
                     'tokenkeep:namespace': '', 'tokenkeep:access': 'after-first-unlock'}
            value = Secret.Value.new('theirs', -1, 'text/plain')
            Secret.Item.create_sync(collection, None, names, 'x', value, Secret.ItemCreateFlags.NONE, None)
            """)
        #expect(try world.load(in: store) == "ours")
        try store.clear(service: "example.com", account: "ann", ifVersion: version)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load(in: store) }
    }

    @Test func aPasswordIsAskedForAtEachUse() throws {
        let questions = MutexGuarded(0)
        let password = world.password
        let asking = try world.openAsking { _ throws(TokenKeepError) in
            questions.withLock { $0 += 1 }
            return password
        }
        #expect(try world.save("one", flags: .userPresence, in: asking).module == "secret-service")
        #expect(questions.withLock { $0 } == 1)
        #expect(try world.load(in: asking) == "one")
        #expect(try world.load(in: asking) == "one")
        #expect(questions.withLock { $0 } == 3)
        #expect(throws: TokenKeepError(.locked, "")) { try world.load() }
        #expect(throws: TokenKeepError(.locked, "")) { try world.save("two") }
        #expect(throws: TokenKeepError(.locked, "")) { try world.save("two", label: "another") }
        #expect(try world.plain() == "" && world.sealed() != "")
        // A list and a clear need no presence of the user.
        #expect(try world.store.list().items.map(\.flags) == [.userPresence])
        #expect(try world.clear())
    }

    @Test func aPendingWriteArrivesSealed() throws {
        _ = try? world.load()  // marks the service as used
        world.stopService()
        let outcome = try world.save("one", level: .whenUnlocked)
        #expect(outcome.module == "vault" && outcome.pendingModules == ["secret-service"])
        #expect(try world.load() == "one")
        try world.keyring.restart()
        #expect(try world.store.pendingChanges.sync().left == 0)
        #expect(try world.plain() == "" && world.sealed() != "")
        #expect(try world.load() == "one" && world.open().pendingChanges.report().entries.isEmpty)
    }

    /// Only TokenKeep writes sealed items, so a pending removal need not open them.
    @Test func aPendingRemovalIsAppliedWhileTheVaultIsLocked() throws {
        try world.save("one", level: .whenUnlocked)
        world.stopService()
        _ = try world.clear()
        try world.store.lock()
        try world.keyring.restart()
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load() }
        #expect(try world.open().pendingChanges.sync().left == 0)
        #expect(try world.sealed() == "")
    }

    @Test func otherNamespacesHaveTheirOwn() throws {
        let other = try world.open { $0.namespace = "work" }
        try other.put("of work", level: .whenUnlocked)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load() }
        try world.save("common", level: .whenUnlocked)
        #expect(try other.load(service: "example.com", account: "ann").secret.utf8String == "of work")
        #expect(try world.load() == "common")
        #expect(try other.list().items.count == 1 && world.store.list().items.count == 1)
        #expect(try world.clear())
        #expect(try other.load(service: "example.com", account: "ann").secret.utf8String == "of work")
    }

    /// A stopped process's value arrives after a newer value was saved without the service.
    @Test func whatArrivesLateIsOlder() throws {
        try world.save("one", level: .whenUnlocked)
        let first = try world.sealed()
        try world.save("between", level: .whenUnlocked)
        world.stopService()
        let other = try world.open()
        #expect(try world.save("two", level: .whenUnlocked, in: other).module == "vault")
        let saved = UnixTime.now
        try world.keyring.restart()
        repeat {
            try world.tamper("item.set_secret_sync(Secret.Value.new('\(first)', -1, 'text/plain'), None)")
        } while UnixTime.now.rawValue <= saved.rawValue + 1
        #expect(try world.open().pendingChanges.sync().left == 0)
        #expect(try world.load() == "two" && world.open().pendingChanges.report().entries.isEmpty)
    }

    @Test func aForgottenModuleHidesNothing() throws {
        try world.save("one", level: .whenUnlocked)
        _ = try world.store.pendingChanges.forget(module: "secret-service")
        for store in [world.store, try world.open()] { #expect(try world.load(in: store) == "one") }
        #expect(try world.clear())
        try world.save("another", account: "bob", level: .whenUnlocked)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load() }
        #expect(try world.sealed() == "")
    }

    @Test func recordsOfSealedItemsGoWithTheirItems() throws {
        let records = { world.directory.names(in: "vault/current/records").count }
        try world.save("one", level: .whenUnlocked)
        try world.save("two", account: "bob", flags: .requireEnforced)
        #expect(records() == 2)
        try world.save("three", level: .afterFirstUnlock)
        #expect(records() == 1)
        #expect(try world.clear("bob"))
        #expect(records() == 0)
    }

    // MARK: Changes by other programs

    /// The vault is unreadable, so nobody knows who sealed the item. Loads and saves fail: no item is missed or added.
    @Test(arguments: ["any required secret-service", "any sufficient secret-service\nany required vault"])
    func aVaultThatCannotBeReadHidesNothing(stack: String) throws {
        try world.save("one", flags: .requireEnforced)
        let headers = ["vault/current/header", "vault/current/header.2"]
        let kept = headers.map { world.directory.read($0) ?? [] }
        for file in headers { world.directory.write([1, 2, 3], to: file) }
        let other = try world.open(stack: stack)
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.load(in: other) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.save("two", in: other) }
        #expect(try world.plain() == "")
        for (file, bytes) in zip(headers, kept) { world.directory.write(bytes, to: file) }
        #expect(try world.load() == "one")
    }

    @Test(arguments: [
        "item.set_attributes_sync(None, dict(item.get_attributes(), **{'tokenkeep:access': 'after-first-unlock'}), None)",
        "item.set_attributes_sync(None, dict(item.get_attributes(), **{'tokenkeep:flags': '4'}), None)",
        "item.set_secret_sync(find('bob').get_secret(), None)",
        "item.set_secret_sync(Secret.Value.new('token', -1, 'text/plain'), None)",
        "item.set_secret_sync(Secret.Value.new('', 0, 'text/plain'), None)",
        "text = item.get_secret().get_text(); item.set_secret_sync(Secret.Value.new(text[:-8], -1, 'text/plain'), None)",
        "text = item.get_secret().get_text(); item.set_secret_sync(Secret.Value.new(text[:60] + ('A' if text[60] != 'A' else 'B') + text[61:], -1, 'text/plain'), None)",
    ])
    func whatWasTamperedWithIsCorrupt(change: String) throws {
        try world.save("one", level: .whenUnlocked)
        try world.save("two", account: "bob", level: .whenUnlocked)
        try world.tamper(change)
        for store in [world.store, try world.open()] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try world.load(in: store) }
        }
        #expect(try world.load("bob") == "two")
        // A new save of the item succeeds all the same.
        try world.save("three", level: .whenUnlocked)
        #expect(try world.load() == "three" && world.open().list().items.count == 2)
    }

    @Test func whatAnotherVaultSealedIsLeftAlone() throws {
        try world.save("ours", level: .whenUnlocked)
        let sealed = try world.sealed()
        let other = try world.open(vault: "another")
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load(in: other) }
        try world.save("theirs", in: other)
        #expect(try world.plain() == "theirs")
        #expect(try other.clear(service: "example.com", account: "ann"))
        #expect(try world.plain() == "" && world.sealed() == sealed)
        #expect(try other.list().items.isEmpty)
        #expect(try world.load() == "ours")
    }

    @Test func theReportSaysWhatSealingGives() throws {
        let store = try world.open(stack: "any required secret-service")
        let enforced = try store.protection(of: .afterFirstUnlock, .requireEnforced)
        #expect(enforced[.otherUser].strength == .enforced && enforced[.diskTheft].strength == .enforced)
        #expect(enforced[.diskTheft].mechanism.hasPrefix("sealed by the vault"))
        #expect(try store.protection(of: .afterFirstUnlock)[.diskTheft].strength == .advisory)
        #expect(try store.protection(of: .whenUnlocked)[.screenLock].strength == .advisory)
        #expect(try world.save("one", flags: .requireEnforced, in: store).module == "secret-service")
        #expect(try world.load(in: store) == "one" && world.plain() == "")
        #expect(throws: TokenKeepError(.policy, "")) {
            try world.save("two", account: "bob", level: .whenUnlocked, flags: .requireEnforced, in: store)
        }
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
    }

    @Test func withoutAPasswordNothingIsSealed() throws {
        let world = try SealingWorld(hasPassword: false)
        try world.save("one", level: .whenUnlocked)
        #expect(try world.plain() == "one")
        #expect(throws: TokenKeepError(.policy, "")) { try world.save("two", flags: .requireEnforced) }
        #expect(try world.load() == "one")
        // The first save after the first password seals the item.
        try world.setPassword()
        try world.save("three")
        #expect(try world.plain() == "" && world.load() == "three")
    }
}

/// A first module that cannot have pending writes, and refuses every save.
struct ShelfThatTakesNothing: BasicModule {
    let name = "shelf"
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        throw TokenKeepError(.notFound, "the shelf is empty")
    }
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        throw TokenKeepError(.denied, "the shelf takes nothing")
    }
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        false
    }
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        ItemListing()
    }
    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "here") }
}
