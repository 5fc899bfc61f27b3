import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

@Suite struct StoreTests {
    fileprivate let directory = TemporaryDirectory()
    fileprivate var stores: TestStore { TestStore(in: directory) }

    /// On a machine with a bus but without a service, calls do not wait for a service.
    @Test func aBusWithoutAServiceIsNotWaitedFor() throws {
        let bus = try PrivateBus()
        let store = try TestStore(bus, in: directory).open { $0.timeoutMilliseconds = Patience.milliseconds * 10 }
        let limit = Deadline.patient
        for _ in 0..<3 {
            #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        }
        #expect(!limit.hasPassed)
        #expect(directory.names().isEmpty)
    }

    @Test(arguments: ["any required vault", "any required memory"])
    func savesLoadsAndClears(stack: String) throws {
        let store = try stores.open(stack: stack)
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        let version = try store.put("token-1", "ann").version
        let item = try store.load(service: "example.com", account: "ann")
        #expect(item.secret.utf8String == "token-1")
        #expect(item.details.version == version)
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        #expect(try !store.clear(service: "example.com", account: "ann"))
    }

    /// A session would take NOT_FOUND for a sign-out.
    @Test(arguments: ["any optional vault", "load optional vault\nlist optional vault", "any required vault"])
    func aVaultThatCannotBeReadIsNotEmpty(stack: String) throws {
        try stores.open().put("token", "ann")
        for name in HeaderFiles.names { directory.write([0], to: "vault/era-1/\(name)") }
        let store = try stores.open(stack: stack)
        #expect(throws: TokenKeepError(.corrupt, "")) { try store.load(service: "example.com", account: "ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try store.list() }
    }

    @Test func loadingMakesNoVault() throws {
        let store = try stores.open()
        _ = try? store.load(service: "s", account: "a")
        _ = try store.list()
        try store.clear(service: "s", account: "a")
        #expect(directory.names() == [])
    }
}

extension StoreTests {
    @Test func namespacesDoNotSeeEachOther() throws {
        let (one, two) = (try stores.open(), try stores.open(namespace: "two"))
        try one.put("1", "a")
        #expect(throws: TokenKeepError(.notFound, "")) { try two.load(service: "example.com", account: "a") }
        try two.put("2", "a")
        #expect(try one.load(service: "example.com", account: "a").secret.utf8String == "1")
        #expect(try two.clear(service: "example.com") == 1)
        #expect(try one.list().items.count == 1)
        let foreign = try SaveRequest(
            name: ItemName(namespace: "x", service: "s", account: ""), secret: SecretBytes("x"))
        #expect(errorText { _ = try one.save(foreign) } == "the item's namespace is not that of the store")
    }

    /// A pending write for a module that is not in this stack stays pending, whatever happens to the item.
    @Test func keepsPendingWritesOfModulesThatAreNotHere() throws {
        let store = try stores.open()
        try store.put("1", "a")
        let name = try name("a")
        let (records, call) = (stores.records, CallContext.patient)
        let part = PendingWrite(
            module: "secret-service", machine: [UInt8](repeating: 7, count: 16), kind: .write, since: UnixTime(5),
            base: [UInt8](repeating: 1, count: 16), inFlight: [[UInt8](repeating: 2, count: 16)])
        let item = try store.load(service: "example.com", account: "a")
        do {
            var transaction = try records.begin(name, call)
            try transaction.apply(.parts(value: item, pending: [part]))
        }
        #expect(try store.load(service: "example.com", account: "a").secret.utf8String == "1")
        try store.put("2", "a")
        let kept = try #require(try records.record(of: name, call))
        #expect(kept.isPending)
        #expect(kept.pending.map(\.kind) == [.write] && kept.pending.map(\.base) == [part.base])
        // The saved value may still arrive, so it counts as in flight. Other programs' earlier changes count as older.
        #expect(kept.pending.first?.inFlight.count == 2 && kept.pending.first?.inFlight.first == part.inFlight.first)
        #expect(kept.pending.allSatisfy { $0.since > part.since })
        try store.clear(service: "example.com", account: "a")
        let tombstone = try #require(try records.record(of: name, call))
        #expect(!tombstone.holdsValue)
        #expect(tombstone.pending.map(\.kind) == [.remove])
        #expect(tombstone.pending.map(\.base) == [part.base])
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "a") }
        #expect(try store.list().items.isEmpty)
        #expect(try !store.clear(service: "example.com", account: "a"))
        try store.put("3", "a", if: .absent)
        #expect(try records.record(of: name, call)?.pending.map(\.kind) == [.remove])
        #expect(try store.load(service: "example.com", account: "a").secret.utf8String == "3")
    }

    @Test func refusesWhatItCannotEnforce() throws {
        let store = try stores.open()
        let name = try ItemName(service: "s", account: "a")
        func status(_ level: AccessLevel?, _ flags: ItemFlags = []) -> Status? {
            do {
                _ = try store.save(
                    SaveRequest(name: name, secret: SecretBytes("x"), accessLevel: level, flags: flags))
                return nil
            } catch { return error.status }
        }
        #expect(status(.whenUnlocked) == nil)
        #expect(status(.afterFirstUnlock) == nil)
        for level in [
            AccessLevel.whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly, .whenPasscodeSetThisDeviceOnly,
        ] {
            #expect(status(level) == .unsupported)
        }
        #expect(status(nil, .userPresence) == .policy)
        #expect(status(.afterFirstUnlock, .requireEnforced) == .policy)
        #expect(status(.memoryOnly) == nil)
    }

    @Test func savingWithDefaultsKeepsTheLevel() throws {
        let store = try stores.open()
        try store.put("1", "a", level: .whenUnlocked)
        let created = try store.load(service: "example.com", account: "a").details.createdAt
        try store.put("2", "a")
        let details = try store.load(service: "example.com", account: "a").details
        #expect(details.accessLevel == .whenUnlocked)
        #expect(details.createdAt == created)
        try store.put("3", "a", level: .afterFirstUnlock)
        #expect(try store.load(service: "example.com", account: "a").details.accessLevel == .afterFirstUnlock)
    }

    /// Every store computes the same version of an item. Only a change of the secret changes the version.
    @Test func versionsAreStableBetweenStores() throws {
        let version = try stores.open().put("1", "a").version
        #expect(try stores.open().load(service: "example.com", account: "a").details.version == version)
        #expect(try stores.open().list().items.map(\.version) == [version])
        #expect(try stores.open().put("1", "a").version == version)
        #expect(try stores.open().put("2", "a").version != version)
    }

    @Test func threadsOnOneStoreLoseNothing() async throws {
        let store = try stores.open()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<20 {
                        #expect(throws: Never.self) { try store.put("\(round)", "own-\(thread)") }
                        #expect(throws: Never.self) { try store.put("\(thread)-\(round)", "shared") }
                        _ = try? store.load(service: "example.com", account: "shared")
                    }
                }
            }
        }
        for thread in 0..<8 {
            #expect(try store.load(service: "example.com", account: "own-\(thread)").secret.utf8String == "19")
        }
        #expect(try store.load(service: "example.com", account: "shared").secret.utf8String?.hasSuffix("-19") == true)
    }

    /// Many stores that make one vault at once agree on one set of keys, so that every item can be read.
    @Test func storesThatMakeTheVaultAtOnceAgree() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask { #expect(throws: Never.self) { try stores.open().put("\(number)", "\(number)") } }
            }
        }
        for number in 0..<8 {
            #expect(
                try stores.open().load(service: "example.com", account: "\(number)").secret.utf8String == "\(number)")
        }
    }

    @Test func clearsAServiceAndSaysWhatItCouldNotRead() throws {
        let store = try stores.open()
        for account in ["a", "b"] { try store.put("x", account) }
        try store.put("x", "a", service: "other")
        directory.write([0], to: "vault/current/records/" + String(repeating: "0", count: 32))
        #expect {
            try store.clear(service: "example.com")
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .corrupt && error?.message.hasPrefix("2 items of example.com were cleared") == true
        }
        #expect(try store.list().items.map(\.name.service) == ["other"])
    }

    /// Two spellings of é that look alike are different services and namespaces, also in a list and a clear.
    @Test(arguments: ["any required vault", "any required memory"])
    func doesNotConfuseSpellings(stack: String) throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let store = try stores.open(stack: stack)
        try store.put("1", "a", service: composed)
        try store.put("2", "a", service: decomposed)
        #expect(try store.list(service: composed).items.count == 1)
        #expect(try store.clear(service: composed) == 1)
        #expect(try store.load(service: decomposed, account: "a").secret.utf8String == "2")
        let one = try stores.open(namespace: composed)
        try one.put("1", "a")
        let other = try stores.open(namespace: decomposed)
        #expect(try other.list().items.isEmpty)
        #expect(try other.clear(service: "example.com") == 0)
        #expect(try one.list().items.count == 1)
    }

    /// If no module was asked, the answer is UNSUPPORTED, and never NOT_FOUND.
    @Test func anOperationWithoutALineIsUnsupported() throws {
        try stores.open().put("1", "a")
        let saving = try stores.open(stack: "save required vault")
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.load(service: "example.com", account: "a") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.clear(service: "example.com", account: "a") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.clear(service: "example.com") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.list() }
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try stores.open(stack: "load required vault").put("1", "a")
        }
    }

    @Test func listingKeepsTheDeadline() throws {
        let store = try stores.open()
        for account in ["a", "b"] { try store.put("x", account) }
        #expect(throws: TokenKeepError(.timedOut, "")) { try store.list(until: .passed) }
        #expect(throws: TokenKeepError(.timedOut, "")) { try store.clear(service: "example.com", until: .passed) }
        #expect(try store.list().items.count == 2)
    }
}
