import Glibc
import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine

/// Watches while items move between the vault and a real gnome-keyring.
@Suite struct WatchMoveTests {
    private let keyring: PrivateKeyring
    private let vault = TemporaryDirectory()
    private var stores: TestStore { TestStore(keyring.bus, in: vault) }

    init() throws { keyring = try PrivateKeyring() }

    /// Several saves within one second are reported, although the service's times are whole seconds.
    @Test func tellsEachSaveInTheService() throws {
        let watch = try StoreWatch(stores.open())
        let other = try stores.open()
        for value in 1...10 {
            #expect(try other.put("\(value)", "ann").module == "secret-service")
            #expect(try watch.all() == [.saved(name("ann"))])
        }
        try other.clear(service: "example.com", account: "ann")
        #expect(try watch.all() == [.cleared(name("ann"))])
    }

    @Test func aDrainIsNoChange() throws {
        _ = try? stores.open().load(service: "example.com", account: "nobody")  // marks the service as used
        try stores.open(isConnected: false).put("1", "ann")
        let watch = try StoreWatch(stores.open())
        let store = try stores.open()
        #expect(try store.list().items.map(\.module) == ["vault"])
        // This load drains, unless a busy machine takes too long. After such a timeout, the store does not ask the
        // service until the service shows that it works.
        _ = try store.load(service: "example.com", account: "ann")
        #expect(try stores.open().pendingChanges.sync().left == 0)
        #expect(try store.list().items.map(\.module) == ["secret-service"])
        #expect(try watch.all() == [])
    }

    @Test func aMoveFromTheVaultAndBackIsNoChange() throws {
        let inVault = try stores.open(stack: "any required vault")
        try inVault.put("1", "ann")
        try inVault.put("1", "bob")
        let watch = try StoreWatch(stores.open())
        let both = try stores.open()
        for round in 1...3 {
            for account in ["ann", "bob"] {
                #expect(try both.put("1", account).module == "secret-service")
                #expect(try watch.all() == [], "round \(round), into the service")
            }
            for account in ["ann", "bob"] {
                // Moves the item as a migration does: first the new place gets the item, then the old one loses it.
                try inVault.put("1", account)
                #expect(try watch.all() == [], "round \(round), into the vault")
                _ = try keyring.bus.secretTool("clear", "service", "example.com", "username", account)
            }
            try inVault.put("\(round)", "other")
            #expect(try watch.all() == [.saved(name("other"))], "round \(round), out of the service")
        }
        #expect(try both.list().items.map(\.module) == ["vault", "vault", "vault"])
    }

    /// A watch reports no removal while another thread moves items to and fro.
    @Test func nothingIsClearedThatOnlyMoves() throws {
        let accounts = (1...5).map { "account-\($0)" }
        for account in accounts { try stores.open(isConnected: false).put("1", account) }
        let watch = try StoreWatch(stores.open())
        let mover = Mover { [self] in
            for value in 2...9 {
                let connected = try stores.open()
                for account in accounts { _ = try connected.load(service: "example.com", account: account) }
                for account in accounts { try stores.open(isConnected: false).put("\(value)", account) }
            }
        }
        var changes: [ItemChange] = []
        while !mover.hasEnded { changes += try watch.all() }
        changes += try watch.all()
        if let error = try mover.finish() { Issue.record("\(error)") }
        #expect(
            changes.allSatisfy { change in
                if case .cleared = change { return false }
                return true
            })
        for account in accounts {
            let name = try name(account)
            #expect(changes.contains(.saved(name)) || changes.contains(.listAgain))
        }
    }

    @Test func anOutageClearsNothing() throws {
        let store = try stores.open()
        try store.put("1", "ann")
        let watch = try StoreWatch(stores.open())
        keyring.stop()
        try stores.open().put("1", "bob")
        // A process that reaches the service may have changed items there.
        #expect(try watch.all() == [.saved(name("bob")), .listAgain])
        try stores.open().clear(service: "example.com", account: "ann")
        // This change was made by TokenKeep, which names the item.
        #expect(try watch.all() == [.cleared(name("ann"))])
        try keyring.restart()
        for account in ["ann", "bob"] { _ = try? stores.open().load(service: "example.com", account: account) }
        #expect(try watch.all().allSatisfy { $0 == .listAgain })
    }

    /// The service signals items that other programs make or remove, but not those that they change.
    @Test func whatAnotherProgramDoesIsTold() throws {
        let store = try stores.open()
        try store.put("1", "ann")
        try store.put("1", "bob")
        let watch = try StoreWatch(stores.open())
        #expect(try watch.all() == [])
        #expect(try keyring.bus.secretTool("clear", "service", "example.com", "username", "bob").status == 0)
        #expect(try watch.wait() == [.cleared(name("bob"))])
        #expect(try saveElsewhere("1", "carl").status == 0)
        #expect(try watch.wait() == [.saved(name("carl"))])
        #expect(try saveElsewhere("2", "ann").status == 0)
        try store.put("1", "dora")
        #expect(try watch.all() == [.saved(name("ann")), .saved(name("dora"))])
        #expect(watch.lookAgainMilliseconds > 0)
    }

    @Test func aServiceThatComesBackIsLookedAt() throws {
        try stores.open().put("1", "ann")
        try keyring.restart(unlocked: true)
        let watch = try StoreWatch(stores.open())
        keyring.stop()
        #expect(watch.waits())
        #expect(try watch.all() == [])
        try keyring.restart()
        #expect(watch.waits())
        // The service is readable again, which may be reported as one change.
        #expect(try watch.all().count <= 1)
        #expect(try keyring.bus.secretTool("clear", "service", "example.com", "username", "ann").status == 0)
        #expect(try watch.wait().contains(.cleared(name("ann"))))
    }

    private func saveElsewhere(_ secret: String, _ account: String) throws -> (output: String, status: Int32) {
        try keyring.bus.secretTool(
            "store", "--label=x", "xdg:schema", "org.tokenkeep.Item", "service", "example.com", "username", account,
            "tokenkeep:namespace", "", "tokenkeep:access", "after-first-unlock", input: secret)
    }
}

extension StoreWatch {
    /// Waits until the watch may have a change.
    fileprivate func waits() -> Bool {
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&poller, 1, Int32(Patience.milliseconds)) == 1
    }

    /// Waits for the next changes, and returns them; empty if there are none.
    fileprivate func wait() throws(TokenKeepError) -> [ItemChange] {
        while waits() {
            let changes = try all()
            if !changes.isEmpty { return changes }
        }
        return []
    }
}

/// Runs work on a thread of its own, and keeps its result.
private final class Mover: @unchecked Sendable {
    private let work: @Sendable () throws -> Void
    private var thread = pthread_t()
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var outcome: Result<Void, any Error>?

    init(_ work: @escaping @Sendable () throws -> Void) {
        self.work = work
        pthread_mutex_init(mutex, nil)
        let error = pthread_create(
            &thread, nil,
            { argument in
                if let argument { Unmanaged<Mover>.fromOpaque(argument).takeUnretainedValue().run() }
                return nil
            }, Unmanaged.passUnretained(self).toOpaque())
        if error != 0 { outcome = .failure(HarnessFailure(message: "no thread")) }
    }

    deinit { mutex.deallocate() }

    private func run() {
        let result = Result { try work() }
        pthread_mutex_lock(mutex)
        outcome = result
        pthread_mutex_unlock(mutex)
    }

    var hasEnded: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return outcome != nil
    }

    /// Waits for the end of the work. Returns the failure; nil for success.
    func finish() throws -> String? {
        pthread_join(thread, nil)
        guard case .failure(let error) = outcome else { return nil }
        return "\(error)"
    }
}
