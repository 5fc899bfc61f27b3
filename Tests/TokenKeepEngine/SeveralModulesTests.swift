import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Pending changes for several modules of one stack, or for a module without modification times.
@Suite struct SeveralModulesTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let one = FailingModule("one")
    private let two = FailingModule("two")
    private let clock = MutexGuarded(UnixTime(1_000_000))
    /// Stores with both modules, then the vault, unless the test names another stack.
    private var stores: TestStore {
        TestStore(in: directory, stack: "any sufficient one\nany sufficient two\nany required vault") {
            [one, two, clock] configuration, _ in
            for module in [one, two] { configuration.standIns[module.name] = { _ in module } }
            configuration.clock = { clock.withLock { $0 } }
        }
    }

    private func clear(_ store: Store) throws { try store.clear(service: "example.com", account: "ann") }

    private func secondsPass() {
        clock.withLock { $0 = UnixTime($0.rawValue + 5) }
        for module in [one, two] { module.secondsPass() }
    }

    // MARK: The modules that lose an item

    @Test func aPlaceThatNoLineClearsKeepsWhatOthersPutThere() throws {
        let store = try stores.open(stack: "load sufficient one\nany required vault")
        try one.put(name(), "theirs")
        try stores.open(stack: "any required vault").put("x")
        #expect(try store.value() == "theirs")
        try store.put("ours")
        #expect(one.value == "theirs")
        #expect(try store.pendingChanges.sync().left == 0)
    }

    @Test(arguments: [false, true]) func aSaveRemovesTheCopiesFurtherDown(isLater: Bool) throws {
        try stores.open(stack: "any sufficient two\nany required vault").put("old")
        if isLater { two.fails = [.load: .unavailable, .clear: .unavailable] }
        try stores.open().put("new")
        one.fails = [.load: .unavailable]
        #expect((try? stores.open().value()) != "old")
        two.fails = [:]
        #expect((try? stores.open().value()) != "old")
        one.fails = [:]
        #expect(try stores.open().value() == "new")
        #expect(try stores.open().pendingChanges.sync().left == 0)
        #expect(two.value == nil && one.value == "new")
    }

    /// Another program's item beside TokenKeep's copy stays when the copy is removed.
    @Test func aSaveElsewhereTakesNothingFromOtherPrograms() throws {
        try stores.open(stack: "any sufficient two\nany required vault").put("old")
        try two.put(name(), "theirs")
        two.keepsOthers = true
        try stores.open().put("new")
        #expect(two.value == "theirs")
        #expect(try stores.open().value() == "new")
    }

    /// Another program's value counts as a copy of the item, once a load has returned it.
    @Test func aCopyThatWasOnlyReadIsRemoved() throws {
        try stores.open(stack: "any required vault").put("x")
        try clear(stores.open(stack: "any required vault"))
        try two.put(name(), "old")
        #expect(try stores.open().value() == "old")
        one.fails = [.load: .unavailable, .save: .unavailable]
        #expect(try stores.open().put("new").pendingModules == ["one"])
        one.fails = [:]
        #expect(try stores.open().value() == "new")
        #expect(two.value == nil)
    }

    // MARK: Older values

    /// The values that TokenKeep gave a module are known, even if the module reports no modification times.
    @Test(arguments: [false, true]) func whatAnUndatedPlaceHasOfOursIsOlder(isCleared: Bool) throws {
        one.isDated = false
        try stores.open().put("old")
        one.fails = [.load: .unavailable, .save: .unavailable, .clear: .unavailable]
        if isCleared { try clear(stores.open()) } else { try stores.open().put("new") }
        one.fails = [:]
        let expected = isCleared ? nil : "new"
        #expect(try stores.open().value() == expected)
        #expect(try stores.open().value() == expected)
        #expect(one.value == expected)
    }

    /// The values that a module got in a drain are known too.
    @Test func whatAnUndatedPlaceWasGivenLaterIsOursToo() throws {
        one.isDated = false
        let down: [StackLine.Operation: Status] = [.load: .unavailable, .save: .unavailable]
        for value in ["first", "second", "third"] {
            one.fails = down
            try stores.open().put(value)
            one.fails = [:]
            #expect(try stores.open().value() == value)
            #expect(one.value == value)
        }
    }

    /// A value that TokenKeep gave to one module does not count as a known value of another module.
    @Test func whatAnotherStackSavesIsNotTakenForAnotherPrograms() throws {
        one.isDated = false
        let first = "any sufficient one\nany required vault"
        let other = "any sufficient two\nany required vault"
        try stores.open(stack: first).put("first")
        try stores.open(stack: other).put("elsewhere")
        one.fails = [.load: .unavailable, .save: .unavailable]
        try stores.open(stack: first).put("second")
        one.fails = [:]
        #expect(try stores.open(stack: first).value() == "second")
        #expect(one.value == "second")
    }

    /// Another program's value is older than a later save or clear by a stack without the module.
    @Test(arguments: [false, true]) func aSaveByAnotherStackRenewsPendingWrites(isCleared: Bool) throws {
        let first = try stores.open(stack: "any sufficient one\nany required vault")
        one.fails = [.load: .unavailable, .save: .unavailable]
        try first.put("first")
        secondsPass()
        try one.put(name(), "theirs")
        secondsPass()
        let other = try stores.open(stack: "any sufficient two\nany required vault")
        if isCleared { try clear(other) } else { try other.put("second") }
        one.fails = [:]
        secondsPass()
        #expect(try stores.open().value() == (isCleared ? nil : "second"))
        #expect(try first.value() == (isCleared ? nil : "second"))
        #expect(one.value != "theirs")
    }

    /// Another program's newer value in one module does not end the pending removal from another module.
    @Test func aNewerValueInOnePlaceLeavesNoOlderOneInAnother() throws {
        try stores.open(stack: "any sufficient two\nany required vault").put("old")
        one.fails = [.load: .unavailable, .save: .unavailable]
        two.fails = [.load: .unavailable, .clear: .unavailable]
        try stores.open().put("new")
        secondsPass()
        try one.put(name(), "theirs")
        one.fails = [:]
        #expect(try stores.open().value() == "theirs")
        two.fails = [:]
        _ = try stores.open().pendingChanges.sync()
        #expect(try stores.open().value() == "theirs")
        #expect(two.value == nil)
    }

    /// If the vault comes first, its item stays, whatever another program saved in a later module.
    @Test func theVaultsItemStaysWhatAnotherPlaceHas() throws {
        let lines = "any sufficient vault\nany required one"
        try stores.open(stack: "any required one").put("old")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        try stores.open(stack: lines).put("ours")
        secondsPass()
        try one.put(name(), "theirs")
        one.fails = [:]
        #expect(try stores.open(stack: lines).value() == "ours")
        #expect(try stores.open(stack: lines).value() == "ours")
        #expect(one.value == "theirs")
    }

    // MARK: Lines that let a save pass

    @Test(arguments: [Status.denied, .io, .locked, .corrupt, .unsupported])
    func aPlaceThatIsPassedHasAPendingWrite(status: Status) throws {
        let lines = "any optional one\nany required vault"
        try stores.open(stack: lines).put("old")
        one.fails = [.save: status]
        try stores.open(stack: lines).put("new")
        #expect(try stores.open(stack: lines).value() == "new")
        one.fails = [:]
        #expect(try stores.open(stack: lines).value() == "new")
        #expect(one.value == "new")
    }

    @Test(arguments: ["requisite", "[ok=done unavailable=die default=bad]"])
    func anOutageThatEndsTheSaveEndsIt(control: String) throws {
        one.fails = [.load: .unavailable, .save: .unavailable]
        let store = try stores.open(stack: "any \(control) one\nany required vault")
        #expect(throws: TokenKeepError(.unavailable, "")) { try store.put("new") }
        #expect(try stores.open(stack: "any required vault").value() == nil)
    }

    /// The record has a pending write, so it answers loads. A save that cannot change the record must fail.
    @Test func aJournalThatTakesNothingIsNotPassed() throws {
        let lines = "any optional one\nany required vault"
        one.fails = [.save: .unavailable, .load: .unavailable]
        try stores.open(stack: lines).put("first")
        one.fails = [:]
        let record = try #require(directory.names(in: "vault/current/records").first)
        mkdir(directory.path + "/vault/current/records/" + record + ".tmp", 0o700)
        #expect(throws: TokenKeepError.self) { try stores.open(stack: lines).put("second") }
        #expect(one.value == nil)
        #expect(try stores.open(stack: lines).value() == "first")
    }

    @Test func aStackWithADeferrableModuleKeepsAnItemInOnePlace() throws {
        for action in ["ok", "1"] {
            let text = "save [ok=\(action) default=die] one\nsave required two\nload required two"
            #expect(throws: TokenKeepError(.invalid, "")) { try stores.open(stack: text) }
        }
    }

    // MARK: Without a journal

    /// A user whose vault cannot be read can still sign out of the modules.
    @Test func aClearReachesTheModulesWithoutAVault() throws {
        try stores.open().put("old")
        unlink(directory.path + "/vault/current/keyfile")
        #expect(throws: TokenKeepError.self) { try clear(stores.open()) }
        #expect(one.value == nil)
    }

    /// A clear leaves a pending removal, even if the action of the module's line ignores the outage.
    @Test func aClearIsPendingWhateverTheLinePasses() throws {
        let lines = "any optional one\nany required two"
        try one.put(name(), "old")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        try clear(stores.open(stack: lines))  // no vault exists before this clear
        one.fails = [:]
        #expect(try stores.open(stack: lines).value() == nil)
        #expect(one.value == nil)
    }

    @Test func aClearThatCannotBePendingFails() throws {
        let lines = "any optional one\nany optional vault"
        try stores.open(stack: lines).put("old")
        unlink(directory.path + "/vault/current/keyfile")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        #expect(throws: TokenKeepError.self) { try clear(stores.open(stack: lines)) }
    }
}

/// A deferrable module with scripted failures. Several stores may share the module, one thread at a time.
private final class FailingModule: BasicModule, @unchecked Sendable {
    let name: String
    let supportsPendingWrites = true
    /// The statuses with which operations fail.
    var fails: [StackLine.Operation: Status] = [:]
    /// Whether the module's items are other programs' items.
    var keepsOthers = false
    /// Whether the module's items have modification times.
    var isDated = true
    private var now = UnixTime(1_000_000)
    private var items: [ItemName: TokenItem] = [:]

    init(_ name: String) { self.name = name }

    /// The value of the module's only item.
    var value: String? { items.values.first?.secret.utf8String }

    func secondsPass() { now = UnixTime(now.rawValue + 5) }

    /// Another program saves a value.
    func put(_ item: ItemName, _ secret: String) throws {
        var details = ItemDetails(name: item, label: "theirs", module: name)
        details.modifiedAt = isDated ? now : nil
        items[item] = TokenItem(details: details, secret: try SecretBytes(secret))
    }

    private func enter(_ operation: StackLine.Operation) throws(TokenKeepError) {
        if let status = fails[operation] { throw TokenKeepError(status, "told to") }
    }

    func load(_ item: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try enter(.load)
        guard let found = items[item] else { throw TokenKeepError(.notFound, "no item \(item)") }
        return found
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try enter(.save)
        try request.check(present: items[request.name]?.details)
        var details = request.details(replacing: items[request.name]?.details, module: name)
        details.modifiedAt = isDated ? now : nil
        details.version = UInt64(items.count) + 1
        items[request.name] = TokenItem(details: details, secret: request.secret)
        return details.version
    }

    func clear(_ item: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        try enter(.clear)
        return items.removeValue(forKey: item) != nil
    }

    func clearOwn(_ item: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard !keepsOthers else { return }
        _ = try clear(item, ifVersion: nil, call)
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try enter(.list)
        return ItemListing(items: items.values.map(\.details))
    }

    func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "here") }
}
