import Glibc
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Pending changes for several modules of one stack, or for a module without modification times.
@Suite struct PlacesTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private let one = Place("one")
    private let two = Place("two")
    private let clock = MutexGuarded(UnixTime(1_000_000))

    private func open(_ lines: String...) throws -> Store {
        var configuration = StoreConfiguration(stackText: lines.joined(separator: "\n"))
        configuration.vaultPath = directory.path + "/vault"
        for place in [one, two] { configuration.standIns[place.name] = { _ in place } }
        let clock = clock
        configuration.clock = { clock.withLock { $0 } }
        return try Store(configuration)
    }

    /// A store with both modules, then the vault.
    private func open() throws -> Store {
        try open("any sufficient one", "any sufficient two", "any required vault")
    }

    private func name() throws -> ItemName { try ItemName(service: "s", account: "a") }

    @discardableResult
    private func save(_ store: Store, _ secret: String) throws -> SaveOutcome {
        try store.save(SaveRequest(name: name(), secret: SecretBytes(secret)))
    }

    private func load(_ store: Store) throws -> String? {
        do {
            return try store.load(service: "s", account: "a").secret.utf8String
        } catch  where error.status == .notFound {
            return nil
        }
    }

    private func clear(_ store: Store) throws { try store.clear(service: "s", account: "a") }

    private func secondsPass() {
        clock.withLock { $0 = UnixTime($0.rawValue + 5) }
        for place in [one, two] { place.secondsPass() }
    }

    // MARK: The modules that lose an item

    @Test func aPlaceThatNoLineClearsKeepsWhatOthersPutThere() throws {
        let store = try open("load sufficient one", "any required vault")
        try one.put(name(), "theirs")
        try save(open("any required vault"), "x")
        #expect(try load(store) == "theirs")
        try save(store, "ours")
        #expect(one.value == "theirs")
        #expect(try store.pendingChanges.sync().left == 0)
    }

    @Test(arguments: [false, true]) func aSaveRemovesTheCopiesFurtherDown(isLater: Bool) throws {
        try save(open("any sufficient two", "any required vault"), "old")
        if isLater { two.fails = [.load: .unavailable, .clear: .unavailable] }
        try save(open(), "new")
        one.fails = [.load: .unavailable]
        #expect((try? load(open())) != "old")
        two.fails = [:]
        #expect((try? load(open())) != "old")
        one.fails = [:]
        #expect(try load(open()) == "new")
        #expect(try open().pendingChanges.sync().left == 0)
        #expect(two.value == nil && one.value == "new")
    }

    /// Another program's item beside TokenKeep's copy stays when the copy is removed.
    @Test func aSaveElsewhereTakesNothingFromOtherPrograms() throws {
        try save(open("any sufficient two", "any required vault"), "old")
        try two.put(name(), "theirs")
        two.keepsOthers = true
        try save(open(), "new")
        #expect(two.value == "theirs")
        #expect(try load(open()) == "new")
    }

    /// Another program's value counts as a copy of the item, once a load has returned it.
    @Test func aCopyThatWasOnlyReadIsRemoved() throws {
        try save(open("any required vault"), "x")
        try clear(open("any required vault"))
        try two.put(name(), "old")
        #expect(try load(open()) == "old")
        one.fails = [.load: .unavailable, .save: .unavailable]
        #expect(try save(open(), "new").pendingModules == ["one"])
        one.fails = [:]
        #expect(try load(open()) == "new")
        #expect(two.value == nil)
    }

    // MARK: Older values

    /// The values that TokenKeep gave a module are known, even if the module reports no modification times.
    @Test(arguments: [false, true]) func whatAnUndatedPlaceHasOfOursIsOlder(isCleared: Bool) throws {
        one.isDated = false
        try save(open(), "old")
        one.fails = [.load: .unavailable, .save: .unavailable, .clear: .unavailable]
        if isCleared { try clear(open()) } else { try save(open(), "new") }
        one.fails = [:]
        let expected = isCleared ? nil : "new"
        #expect(try load(open()) == expected)
        #expect(try load(open()) == expected)
        #expect(one.value == expected)
    }

    /// The values that a module got in a drain are known too.
    @Test func whatAnUndatedPlaceWasGivenLaterIsOursToo() throws {
        one.isDated = false
        let down: [StackLine.Operation: Status] = [.load: .unavailable, .save: .unavailable]
        for value in ["first", "second", "third"] {
            one.fails = down
            try save(open(), value)
            one.fails = [:]
            #expect(try load(open()) == value)
            #expect(one.value == value)
        }
    }

    /// A value that TokenKeep gave to one module does not count as a known value of another module.
    @Test func whatAnotherStackSavesIsNotTakenForAnotherPrograms() throws {
        one.isDated = false
        let (first, other) = (
            ["any sufficient one", "any required vault"], ["any sufficient two", "any required vault"]
        )
        try save(open(first[0], first[1]), "first")
        try save(open(other[0], other[1]), "elsewhere")
        one.fails = [.load: .unavailable, .save: .unavailable]
        try save(open(first[0], first[1]), "second")
        one.fails = [:]
        #expect(try load(open(first[0], first[1])) == "second")
        #expect(one.value == "second")
    }

    /// Another program's value is older than a later save or clear by a stack without the module.
    @Test(arguments: [false, true]) func aSaveByAnotherStackRenewsPendingWrites(isCleared: Bool) throws {
        let first = try open("any sufficient one", "any required vault")
        one.fails = [.load: .unavailable, .save: .unavailable]
        try save(first, "first")
        secondsPass()
        try one.put(name(), "theirs")
        secondsPass()
        let other = try open("any sufficient two", "any required vault")
        if isCleared { try clear(other) } else { try save(other, "second") }
        one.fails = [:]
        secondsPass()
        #expect(try load(open()) == (isCleared ? nil : "second"))
        #expect(try load(first) == (isCleared ? nil : "second"))
        #expect(one.value != "theirs")
    }

    /// Another program's newer value in one module does not end the pending removal from another module.
    @Test func aNewerValueInOnePlaceLeavesNoOlderOneInAnother() throws {
        try save(open("any sufficient two", "any required vault"), "old")
        one.fails = [.load: .unavailable, .save: .unavailable]
        two.fails = [.load: .unavailable, .clear: .unavailable]
        try save(open(), "new")
        secondsPass()
        try one.put(name(), "theirs")
        one.fails = [:]
        #expect(try load(open()) == "theirs")
        two.fails = [:]
        _ = try open().pendingChanges.sync()
        #expect(try load(open()) == "theirs")
        #expect(two.value == nil)
    }

    /// If the vault comes first, its item stays, whatever another program saved in a later module.
    @Test func theVaultsItemStaysWhatAnotherPlaceHas() throws {
        let lines = ["any sufficient vault", "any required one"]
        try save(open("any required one"), "old")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        try save(open(lines[0], lines[1]), "ours")
        secondsPass()
        try one.put(name(), "theirs")
        one.fails = [:]
        #expect(try load(open(lines[0], lines[1])) == "ours")
        #expect(try load(open(lines[0], lines[1])) == "ours")
        #expect(one.value == "theirs")
    }

    // MARK: Lines that let a save pass

    @Test(arguments: [Status.denied, .io, .locked, .corrupt, .unsupported])
    func aPlaceThatIsPassedHasAPendingWrite(status: Status) throws {
        let lines = ["any optional one", "any required vault"]
        try save(open(lines[0], lines[1]), "old")
        one.fails = [.save: status]
        try save(open(lines[0], lines[1]), "new")
        #expect(try load(open(lines[0], lines[1])) == "new")
        one.fails = [:]
        #expect(try load(open(lines[0], lines[1])) == "new")
        #expect(one.value == "new")
    }

    @Test(arguments: ["requisite", "[ok=done unavailable=die default=bad]"])
    func anOutageThatEndsTheSaveEndsIt(control: String) throws {
        one.fails = [.load: .unavailable, .save: .unavailable]
        let store = try open("any \(control) one", "any required vault")
        #expect(throws: TokenKeepError(.unavailable, "")) { try save(store, "new") }
        #expect(try load(open("any required vault")) == nil)
    }

    /// The record has a pending write, so it answers loads. A save that cannot change the record must fail.
    @Test func aJournalThatTakesNothingIsNotPassed() throws {
        let lines = ["any optional one", "any required vault"]
        one.fails = [.save: .unavailable, .load: .unavailable]
        try save(open(lines[0], lines[1]), "first")
        one.fails = [:]
        let record = try #require(directory.names(in: "vault/current/records").first)
        mkdir(directory.path + "/vault/current/records/" + record + ".tmp", 0o700)
        #expect(throws: TokenKeepError.self) { try save(open(lines[0], lines[1]), "second") }
        #expect(one.value == nil)
        #expect(try load(open(lines[0], lines[1])) == "first")
    }

    @Test func aStackWithADeferrableModuleKeepsAnItemInOnePlace() throws {
        for action in ["ok", "1"] {
            let text = ["save [ok=\(action) default=die] one", "save required two", "load required two"]
            #expect(throws: TokenKeepError(.invalid, "")) { try open(text[0], text[1], text[2]) }
        }
    }

    // MARK: Without a journal

    /// A user whose vault cannot be read can still sign out of the modules.
    @Test func aClearReachesTheModulesWithoutAVault() throws {
        try save(open(), "old")
        unlink(directory.path + "/vault/current/keyfile")
        #expect(throws: TokenKeepError.self) { try clear(open()) }
        #expect(one.value == nil)
    }

    /// A clear leaves a pending removal, even if the action of the module's line ignores the outage.
    @Test func aClearIsPendingWhateverTheLinePasses() throws {
        let lines = ["any optional one", "any required two"]
        try one.put(name(), "old")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        try clear(open(lines[0], lines[1]))  // no vault exists before this clear
        one.fails = [:]
        #expect(try load(open(lines[0], lines[1])) == nil)
        #expect(one.value == nil)
    }

    @Test func aClearThatCannotBePendingFails() throws {
        let lines = ["any optional one", "any optional vault"]
        try save(open(lines[0], lines[1]), "old")
        unlink(directory.path + "/vault/current/keyfile")
        one.fails = [.load: .unavailable, .clear: .unavailable]
        #expect(throws: TokenKeepError.self) { try clear(open(lines[0], lines[1])) }
    }
}

/// A deferrable module with scripted failures. Several stores may share the module, one thread at a time.
private final class Place: Module, @unchecked Sendable {
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
