import StoreTestSupport
import TestSupport
import Testing
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// Saves while the first module is locked and has a pending removal, so that the module cannot get the value now.
///
/// The value must not wait under the vault's keyfile, because the user has locked the module that is to get the value.
@Suite struct LockedSaveTests {
    /// The kind of removal that is pending for the locked module.
    enum Removal: CaseIterable {
        case item, service
    }

    private let world = ScriptedService()
    private let directory = TemporaryDirectory(inMemory: true)
    private let keys = ClassKeyStore(simulatingKernelAt: { 0 })

    private var store: Store {
        get throws { try TestStore(world, in: directory, keys: keys).open() }
    }

    private func save(_ secret: String, isKept: Bool = false) throws -> SaveOutcome {
        var request = try SaveRequest(name: name(), secret: SecretBytes(secret))
        request.keepsWhenLocked = isKept
        return try store.save(request)
    }

    private func leavePending(_ removal: Removal, _ condition: ScriptedService.Condition = .locked) throws {
        _ = try save("old")
        world.become(condition)
        switch removal {
        case .item: _ = try store.clear(service: "example.com", account: "ann")
        case .service: #expect(try store.clear(service: "example.com") == 0)
        }
        #expect(try store.value() == nil)
    }

    @Test(arguments: Removal.allCases, [false, true])
    func withoutAPasswordItIsLocked(removal: Removal, isKept: Bool) throws {
        try leavePending(removal)
        #expect(throws: TokenKeepError(.locked, "")) { try save("new", isKept: isKept) }
        #expect(try store.value() == nil)
        world.become(.up)
        #expect(try store.value() == nil)
        #expect(world.items.isEmpty)
        #expect(try save("new").pendingModules.isEmpty)
        #expect(try store.value() == "new")
    }

    @Test(arguments: Removal.allCases)
    func withAPasswordAValueThatMayWaitIsKept(removal: Removal) throws {
        try leavePending(removal)
        _ = try store.passwords.set(SecretBytes("horse"))
        #expect(throws: TokenKeepError(.locked, "")) { try save("new") }
        #expect(try save("new", isKept: true).pendingModules == ["secret-service"])
        #expect(try store.value() == "new")
        _ = try store.lock(.all)
        #expect(throws: TokenKeepError(.locked, "")) { try store.value() }
        _ = try store.unlock(SecretBytes("horse"))
        world.become(.up)
        #expect(try store.pendingChanges.sync().left == 0)
        #expect(world.items.values.map(\.secret.utf8String) == ["new"])
    }

    /// An unavailable module is not locked, so the vault keeps the value for it.
    @Test(arguments: Removal.allCases, [ScriptedService.Condition.down, .hung])
    func anOutageKeepsTheValue(removal: Removal, condition: ScriptedService.Condition) throws {
        try leavePending(removal, condition)
        #expect(try save("new").pendingModules == ["secret-service"])
        #expect(try store.value() == "new")
        world.become(.up)
        #expect(try store.pendingChanges.sync().left == 0)
        #expect(world.items.values.map(\.secret.utf8String) == ["new"])
    }

    /// The vault already keeps a value of the item, so the newer value replaces it.
    @Test func aValueThatWaitsIsReplaced() throws {
        _ = try save("one")
        world.become(.down)
        #expect(try save("two").pendingModules == ["secret-service"])
        world.become(.locked)
        #expect(try save("three").pendingModules == ["secret-service"])
        #expect(try store.value() == "three")
    }
}
