import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Watches of a vault that is locked or unlocked: each change is reported by name or as ``ItemChange/listAgain``.
@Suite final class WatchLockedVaultTests: Sendable {
    private let directory = TemporaryDirectory(inMemory: true)
    private let password: SecretBytes
    private let store: Store

    init() throws {
        password = try SecretBytes("horse")
        store = try TestStore(in: directory).open()
        for account in ["ann", "bob", "carl", "dora"] { try store.put("1", account) }
        _ = try store.passwords.set(password)
    }

    /// Removes the vault's keys from the kernel, which allows a user only 200 keys.
    deinit { _ = try? store.lock() }

    private func watch() throws -> StoreWatch { try StoreWatch(TestStore(in: directory).open()) }

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
