import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Watches while part of the store cannot be read: each change is reported by name or as ``ItemChange/listAgain``.
@Suite final class HiddenChangeTests: Sendable {
    private let directory = TemporaryDirectory(inMemory: true)
    private let password: SecretBytes
    private let store: Store

    init() throws {
        password = try SecretBytes("horse")
        store = try HiddenChangeTests.open(directory)
        for account in ["ann", "bob", "carl", "dora"] { try store.put("1", account) }
        _ = try store.passwords.set(password)
    }

    /// Removes the vault's keys from the kernel, which allows a user only 200 keys.
    deinit { _ = try? store.lock() }

    private static func open(_ directory: TemporaryDirectory) throws -> Store {
        var configuration = StoreConfiguration(stackText: "any required vault")
        configuration.vaultPath = directory.path + "/vault"
        return try Store(configuration)
    }

    private func watch() throws -> StoreWatch { try StoreWatch(HiddenChangeTests.open(directory)) }

    @Test func aLockedVault() throws {
        try store.lock()
        let watch = try watch()
        #expect(watch.problem?.status == .locked)
        #expect(try watch.all() == [])
        #expect(try store.clear(service: "example.com", account: "ann"))
        #expect(try watch.all() == [.listAgain])
        #expect(try watch.all() == [])
        try store.unlock(password)
        #expect(watch.becomesReadable)
        #expect(try watch.all() == [.listAgain])
        #expect(try store.clear(service: "example.com", account: "bob"))
        #expect(try watch.all() == [.cleared(name("bob"))])
        try store.lock()
        #expect(try store.clear(service: "example.com", account: "carl"))
        #expect(try watch.all() == [.cleared(name("carl"))])
        #expect(try self.watch().problem?.status == .locked)
    }

    /// The item was cleared, and the watch reads only after the vault was unlocked again.
    @Test func whatWasClearedBetweenTwoLooks() throws {
        try store.lock()
        let watch = try watch()
        #expect(try store.clear(service: "example.com", account: "ann"))
        try store.unlock(password)
        for account in ["bob", "carl", "dora"] { try store.clear(service: "example.com", account: account) }
        #expect(try watch.all() == [.listAgain])
    }

    @Test func whoeverOpensTheVaultWakesAWatch() throws {
        let code = try store.passwords.createRecoveryCode(password: password)
        try store.lock()
        let recovering = try watch()
        let other = try SecretBytes("donkey")
        _ = try store.passwords.recover(code: code, newPassword: other)
        #expect(recovering.becomesReadable)
        #expect(try recovering.all() == [.listAgain])
        try store.lock()
        let removing = try watch()
        _ = try store.passwords.remove(other, isDestroying: false)
        #expect(removing.becomesReadable)
        #expect(try removing.all() == [.listAgain])
    }

    @Test func otherKeysAreNoChange() throws {
        let watch = try watch()
        #expect(watch.problem == nil)
        let other = try SecretBytes("donkey")
        _ = try store.passwords.change(from: password, to: other, isCompromised: true)
        _ = try store.passwords.remove(other, isDestroying: false)
        _ = try store.passwords.set(password)
        try store.unlock(password)
        #expect(try watch.all() == [])
    }
}

/// Watches of a store that cannot reach a module, while another process can reach the module.
@Suite struct UnreachedChangeTests {
    private let service = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)

    private func open(isConnected: Bool) throws -> Store {
        try service.store(vaultPath: directory.path + "/vault", isConnected: isConnected)
    }

    @Test func eachChangeIsCovered() throws {
        let near = try open(isConnected: true)
        let far = try open(isConnected: false)
        for account in ["known", "gone"] { try near.put("0", account) }
        try far.put("1", "owed")
        let watch = try StoreWatch(open(isConnected: false))
        #expect(watch.problem?.status == .unavailable)
        #expect(try watch.all() == [])
        func covers(_ what: String, _ change: () throws -> Void) throws {
            try change()
            #expect(try watch.all().last == .listAgain, "\(what)")
            #expect(try watch.all() == [], "\(what), once")
        }
        try covers("new") { try near.put("1", "new") }
        try covers("known") { try near.put("1", "known") }
        try covers("gone") { try near.clear(service: "example.com", account: "gone") }
        try covers("settled") { _ = try near.pendingChanges.sync() }
        try covers("owed 2") { try near.put("2", "owed") }
        try covers("owed 3") { try near.put("3", "owed") }
        try covers("owed cleared") { try near.clear(service: "example.com", account: "owed") }
        try covers("known cleared from afar") { try far.clear(service: "example.com", account: "known") }
        try covers("known saved from afar") { try far.put("2", "known") }
    }

    /// A watch does not report a module that stays unavailable more than once.
    @Test func anOutageAloneIsNotToldAgainAndAgain() throws {
        try open(isConnected: true).put("0", "ann")
        try open(isConnected: false).put("0", "bob")
        let far = try open(isConnected: false)
        let deadline = Deadline(milliseconds: 30_000)
        var view = try ItemView.first(of: far, service: nil, until: deadline).view
        for _ in 1...5 {
            for occasion in [ItemView.Occasion.clock, .module] {
                let (changes, isRead) = view.update(from: far, service: nil, on: occasion, until: deadline)
                #expect(changes == [] && isRead)
            }
        }
        #expect(view.update(from: far, service: nil, on: .signal, until: deadline).changes == [.listAgain])
        // The module can be reached again.
        let near = try open(isConnected: true)
        _ = view.update(from: near, service: nil, on: .module, until: deadline)
        #expect(view.update(from: near, service: nil, on: .signal, until: deadline).changes == [])
        // A known item becomes unreadable.
        #expect(view.update(from: far, service: nil, on: .clock, until: deadline).changes == [])
        #expect(view.update(from: near, service: nil, on: .clock, until: deadline).changes == [])
        #expect(view.update(from: far, service: nil, on: .signal, until: deadline).changes == [.listAgain])
        #expect(view.update(from: near, service: nil, on: .module, until: deadline).changes == [.listAgain])
    }
}
