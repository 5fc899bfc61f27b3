import TestSupport
import Testing
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

@Suite struct StoreTests {
    fileprivate let directory = TemporaryDirectory()

    fileprivate func open(_ stack: String? = nil, namespace: String = "") throws -> Store {
        var configuration = StoreConfiguration(stackText: stack ?? "any required vault", namespace: namespace)
        configuration.vaultPath = directory.path + "/vault"
        configuration.stackDirectories = .none
        return try Store(configuration)
    }

    fileprivate func save(
        _ store: Store, _ account: String, _ secret: String, service: String = "example.com",
        level: AccessLevel? = nil, precondition: SaveRequest.Precondition = .none
    ) throws -> UInt64 {
        try store.save(
            SaveRequest(
                name: ItemName(namespace: store.namespace, service: service, account: account),
                secret: SecretBytes(secret), accessLevel: level, precondition: precondition)
        ).version
    }

    /// On a machine with a bus but without a service, calls do not wait for a service.
    @Test func aBusWithoutAServiceIsNotWaitedFor() throws {
        let bus = try PrivateBus()
        var configuration = StoreConfiguration(stackText: ScriptedService.stack, timeoutMilliseconds: 30_000)
        configuration.vaultPath = directory.path + "/vault"
        configuration.busAddress = bus.address
        let store = try Store(configuration)
        let start = ContinuousClock.now
        for _ in 0..<3 {
            #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        }
        #expect(ContinuousClock.now - start < Patience.limit)
        #expect(directory.names().isEmpty)
    }

    @Test(arguments: ["any required vault", "any required memory"])
    func savesLoadsAndClears(stack: String) throws {
        let store = try open(stack)
        #expect(throws: TokenKeepError(.notFound, "")) { try store.load(service: "example.com", account: "ann") }
        let version = try save(store, "ann", "token-1")
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
        _ = try save(open(), "ann", "token")
        for name in HeaderFiles.names { directory.write([0], to: "vault/era-1/\(name)") }
        let store = try open(stack)
        #expect(throws: TokenKeepError(.corrupt, "")) { try store.load(service: "example.com", account: "ann") }
        #expect(throws: TokenKeepError(.corrupt, "")) { try store.list() }
    }

    @Test func loadingMakesNoVault() throws {
        let store = try open()
        _ = try? store.load(service: "s", account: "a")
        _ = try store.list()
        try store.clear(service: "s", account: "a")
        #expect(directory.names() == [])
    }
}

extension StoreTests {
    @Test func namespacesDoNotSeeEachOther() throws {
        let (one, two) = (try open(), try open(namespace: "two"))
        _ = try save(one, "a", "1")
        #expect(throws: TokenKeepError(.notFound, "")) { try two.load(service: "example.com", account: "a") }
        _ = try save(two, "a", "2")
        #expect(try one.load(service: "example.com", account: "a").secret.utf8String == "1")
        #expect(try two.clear(service: "example.com") == 1)
        #expect(try one.list().items.count == 1)
        let foreign = try SaveRequest(
            name: ItemName(namespace: "x", service: "s", account: ""), secret: SecretBytes("x"))
        #expect(errorText { _ = try one.save(foreign) } == "the item's namespace is not that of the store")
    }

    /// A pending write for a module that is not in this stack stays pending, whatever happens to the item.
    @Test func keepsPendingWritesOfModulesThatAreNotHere() throws {
        let store = try open()
        _ = try save(store, "a", "1")
        let name = try ItemName(service: "example.com", account: "a")
        let records = Records(at: directory.path + "/vault")
        let call = CallContext(deadline: Deadline(milliseconds: 1000))
        let part = PendingWrite(
            module: "secret-service", machine: [UInt8](repeating: 7, count: 16), kind: .write, since: UnixTime(5),
            base: [UInt8](repeating: 1, count: 16), inFlight: [[UInt8](repeating: 2, count: 16)])
        let item = try store.load(service: "example.com", account: "a")
        do {
            var transaction = try records.begin(name, call)
            try transaction.apply(.parts(value: item, pending: [part]))
        }
        #expect(try store.load(service: "example.com", account: "a").secret.utf8String == "1")
        _ = try save(store, "a", "2")
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
        _ = try save(store, "a", "3", precondition: .absent)
        #expect(try records.record(of: name, call)?.pending.map(\.kind) == [.remove])
        #expect(try store.load(service: "example.com", account: "a").secret.utf8String == "3")
    }

    @Test func refusesWhatItCannotEnforce() throws {
        let store = try open()
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
        let store = try open()
        _ = try save(store, "a", "1", level: .whenUnlocked)
        let created = try store.load(service: "example.com", account: "a").details.createdAt
        _ = try save(store, "a", "2")
        let details = try store.load(service: "example.com", account: "a").details
        #expect(details.accessLevel == .whenUnlocked)
        #expect(details.createdAt == created)
        _ = try save(store, "a", "3", level: .afterFirstUnlock)
        #expect(try store.load(service: "example.com", account: "a").details.accessLevel == .afterFirstUnlock)
    }

    /// Every store computes the same version of an item. Only a change of the secret changes the version.
    @Test func versionsAreStableBetweenStores() throws {
        let version = try save(open(), "a", "1")
        #expect(try open().load(service: "example.com", account: "a").details.version == version)
        #expect(try open().list().items.map(\.version) == [version])
        #expect(try save(open(), "a", "1") == version)
        #expect(try save(open(), "a", "2") != version)
    }

    @Test func threadsOnOneStoreLoseNothing() async throws {
        let store = try open()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for round in 0..<20 {
                        #expect(throws: Never.self) { try save(store, "own-\(thread)", "\(round)") }
                        #expect(throws: Never.self) { try save(store, "shared", "\(thread)-\(round)") }
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
                group.addTask { #expect(throws: Never.self) { try save(open(), "\(number)", "\(number)") } }
            }
        }
        for number in 0..<8 {
            #expect(try open().load(service: "example.com", account: "\(number)").secret.utf8String == "\(number)")
        }
    }

    @Test func clearsAServiceAndSaysWhatItCouldNotRead() throws {
        let store = try open()
        for account in ["a", "b"] { _ = try save(store, account, "x") }
        _ = try save(store, "a", "x", service: "other")
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
        let store = try open(stack)
        _ = try save(store, "a", "1", service: composed)
        _ = try save(store, "a", "2", service: decomposed)
        #expect(try store.list(service: composed).items.count == 1)
        #expect(try store.clear(service: composed) == 1)
        #expect(try store.load(service: decomposed, account: "a").secret.utf8String == "2")
        let one = try open(namespace: composed)
        _ = try save(one, "a", "1")
        let other = try open(namespace: decomposed)
        #expect(try other.list().items.isEmpty)
        #expect(try other.clear(service: "example.com") == 0)
        #expect(try one.list().items.count == 1)
    }

    /// If no module was asked, the answer is UNSUPPORTED, and never NOT_FOUND.
    @Test func anOperationWithoutALineIsUnsupported() throws {
        _ = try save(open(), "a", "1")
        let saving = try open("save required vault")
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.load(service: "example.com", account: "a") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.clear(service: "example.com", account: "a") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.clear(service: "example.com") }
        #expect(throws: TokenKeepError(.unsupported, "")) { try saving.list() }
        #expect(throws: TokenKeepError(.unsupported, "")) { try save(open("load required vault"), "a", "1") }
    }

    @Test func listingKeepsTheDeadline() throws {
        for number in 0..<300 { _ = try save(open(), "\(number)", "x") }
        var configuration = StoreConfiguration(stackText: "any required vault", timeoutMilliseconds: 1)
        configuration.vaultPath = directory.path + "/vault"
        #expect(throws: TokenKeepError(.timedOut, "")) { try Store(configuration).list() }
        #expect(throws: TokenKeepError(.timedOut, "")) { try Store(configuration).clear(service: "example.com") }
        #expect(try open().list().items.count == 300)
    }
}
