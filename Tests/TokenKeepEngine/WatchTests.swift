import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// Watches of a vault. No test waits, because a save's change has been signalled when the save returns.
@Suite struct WatchTests {
    private let directory = TemporaryDirectory()
    private var stores: TestStore { TestStore(in: directory, vault: "not/yet/vault") }
    private var vault: String { stores.path }
    @Test func tellsWhatAnotherStoreSavesAndClears() throws {
        let watch = try StoreWatch(stores.open())
        let other = try stores.open()
        #expect(try watch.all() == [])
        try other.put("1", "ann")
        try other.put("1", "bob")
        #expect(try watch.all() == [.saved(name("ann")), .saved(name("bob"))])
        try other.put("2", "ann")
        #expect(try watch.all() == [.saved(name("ann"))])
        try other.clear(service: "example.com", account: "bob")
        #expect(try watch.all() == [.cleared(name("bob"))])
        try other.put("2", "ann")  // saves the present value again
        try other.clear(service: "example.com", account: "nobody")
        #expect(try watch.all() == [])
    }

    /// All watches of a process share one notification, so that other tests may make this watch readable for a moment.
    private func becomesQuiet(_ watch: StoreWatch) throws -> Bool {
        let deadline = Deadline.patient
        while !deadline.hasPassed {
            guard watch.isReadable else { return true }
            guard try watch.next() == nil else { return false }
        }
        return false
    }

    @Test func isReadableWhileThereIsSomethingToTell() throws {
        let watch = try StoreWatch(stores.open())
        let other = try stores.open()
        #expect(try watch.all() == [])
        #expect(try becomesQuiet(watch))
        try other.put("1", "ann")
        try other.put("1", "bob")
        #expect(watch.becomesReadable)
        #expect(try watch.next() == .saved(name("ann")))
        #expect(watch.becomesReadable)
        #expect(try watch.next() == .saved(name("bob")))
        #expect(try becomesQuiet(watch))
        #expect(fcntl(watch.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func tellsOfItsNamespaceAndServiceAlone() throws {
        let watch = try StoreWatch(stores.open(namespace: "team"), service: "example.com")
        try stores.open().put("1", "ann")
        let team = try stores.open(namespace: "team")
        try team.put("1", "bob")
        try team.put("1", "bob", service: "other.example")
        #expect(try watch.all() == [.saved(name("bob", namespace: "team"))])
    }

    @Test func whatIsThereIsNoChange() throws {
        try stores.open().put("1", "ann")
        let watch = try StoreWatch(stores.open())
        #expect(try watch.all() == [])
    }

    @Test func memoryOnlyItemsAreNotWatched() throws {
        let store = try stores.open()
        let watch = try StoreWatch(store)
        try store.put("1", "ann")
        #expect(try watch.all() == [.saved(name("ann"))])
        try store.put("code", "ann", level: .memoryOnly)
        try store.put("1", "bob")
        #expect(try watch.all() == [.saved(name("bob"))])
    }

    @Test func aVaultMayBeMadeRemovedAndRestored() throws {
        let watch = try StoreWatch(stores.open())
        try stores.open().put("1", "ann")
        #expect(try watch.all() == [.saved(name("ann"))])
        for moved in [vault, directory.path + "/not"] {
            #expect(rename(moved, directory.path + "/away") == 0)
            #expect(watch.becomesReadable)
            #expect(try watch.all() == [.cleared(name("ann"))])
            #expect(rename(directory.path + "/away", moved) == 0)
            #expect(watch.becomesReadable)
            #expect(try watch.all() == [.saved(name("ann"))])
        }
        try stores.open().put("2", "ann")
        #expect(try watch.all() == [.saved(name("ann"))])
        #expect(unlink(vault + "/changes") == 0)
        _ = try watch.all()
        try stores.open().put("3", "ann")
        #expect(try watch.all() == [.saved(name("ann"))])
    }

    /// The damaged record shows that the watch reads only the changed item: a full reading would report the damage.
    @Test func readsTheChangedItemAlone() throws {
        try stores.open().put("1", "ann")
        let damaged = try #require(directory.names(in: "not/yet/vault/era-1/records").first)
        try stores.open().put("1", "bob")
        let watch = try StoreWatch(stores.open())
        directory.write([1, 2, 3], to: "not/yet/vault/era-1/records/" + damaged)
        let other = try stores.open()
        try other.put("2", "bob")
        #expect(try watch.all() == [.saved(name("bob"))])
        try other.put("1", "carl")
        #expect(try watch.all() == [.saved(name("carl"))])
        for account in ["bob", "carl"] { try other.clear(service: "example.com", account: account) }
        #expect(try watch.all() == [.cleared(name("bob")), .cleared(name("carl"))])
        try stores.open(namespace: "team").put("1", "dora")
        try stores.open(namespace: "team").clear(service: "example.com", account: "dora")
        #expect(try watch.all() == [])
        try other.put("2", "ann")  // sets the damaged record aside
        #expect(try watch.all() == [.saved(name("ann"))])
    }

    @Test func manyChangesAtOnceAreReadInOneList() throws {
        let watch = try StoreWatch(stores.open())
        let other = try stores.open()
        let accounts = (0..<100).map { "a\(1000 + $0)" }
        for account in accounts { try other.put("1", account) }
        #expect(try watch.all() == accounts.map { .saved(try name($0)) })
        for account in accounts { try other.clear(service: "example.com", account: account) }
        #expect(try watch.all() == accounts.map { .cleared(try name($0)) })
    }

    @Test func anotherVaultMayTakeItsPlace() throws {
        try stores.open().put("1", "ann")
        try stores.open { $0.vaultPath = directory.path + "/other" }.put("1", "bob")
        let watch = try StoreWatch(stores.open())
        #expect(rename(vault, directory.path + "/away") == 0)
        #expect(rename(directory.path + "/other", vault) == 0)
        #expect(Set(try watch.all()) == [.cleared(try name("ann")), .saved(try name("bob"))])
        try stores.open().put("2", "bob")
        #expect(try watch.all() == [.saved(name("bob"))])
    }

    /// Each of two watches gets every change, even if the other has read the notification. The end of one watch affects
    /// no other watch.
    @Test func twoWatchesInAProcess() throws {
        let first = try StoreWatch(stores.open())
        var second: StoreWatch? = try StoreWatch(stores.open())
        let elsewhere = try StoreWatch(stores.open { $0.vaultPath = directory.path + "/elsewhere" })
        try stores.open().put("1", "ann")
        #expect(try first.all() == [.saved(name("ann"))])
        #expect(second?.becomesReadable == true)
        #expect(try elsewhere.all() == [])
        #expect(try becomesQuiet(first))
        #expect(second?.becomesReadable == true)
        #expect(try second?.all() == [.saved(name("ann"))])
        second = nil
        #expect(try becomesQuiet(first) && becomesQuiet(elsewhere))
        try stores.open().put("2", "ann")
        #expect(try first.all() == [.saved(name("ann"))])
        #expect(try elsewhere.all() == [])
    }

    /// A watch reports an unreadable vault once. The missed changes are reported once the vault is readable again.
    @Test func aVaultThatCannotBeRead() throws {
        try stores.open().put("1", "ann")
        let watch = try StoreWatch(stores.open())
        try stores.open().put("2", "ann")
        chmod(vault, 0o755)
        #expect(try watch.all() == [.listAgain])
        #expect(try watch.all() == [])
        #expect(watch.lookAgainMilliseconds > 0)
        chmod(vault, 0o700)
        try stores.open().put("1", "bob")
        #expect(try watch.all() == [.saved(name("ann")), .listAgain])
        #expect(watch.lookAgainMilliseconds == -1)
    }
}

extension StoreWatch {
    /// All changes that the watch has to report now.
    func all() throws(TokenKeepError) -> [ItemChange] {
        var changes: [ItemChange] = []
        while let change = try next() { changes.append(change) }
        return changes
    }

    var isReadable: Bool { isReadable(waiting: 0) }
    /// Whether the descriptor becomes readable in time. Another thread may be passing on a notification.
    var becomesReadable: Bool { isReadable(waiting: Int32(Patience.milliseconds)) }

    private func isReadable(waiting milliseconds: Int32) -> Bool {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, milliseconds) == 1
    }
}
