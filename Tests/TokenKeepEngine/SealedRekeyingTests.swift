import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Sealed items in the Secret Service while the vault's keys are replaced.
@Suite struct SealedRekeyingTests {
    private let world: SealingWorld

    init() throws {
        world = try SealingWorld()
        try world.save("one", level: .whenUnlocked)
        try world.save("two", account: "bob", level: .afterFirstUnlock, flags: .requireEnforced)
    }

    private func change(to new: String, in store: Store? = nil) throws {
        _ = try (store ?? world.store).passwords.change(from: world.password, to: SecretBytes(new), isCompromised: true)
    }

    private func remove(isDestroying: Bool = false) throws {
        _ = try world.store.passwords.remove(world.password, isDestroying: isDestroying)
    }

    @Test func itIsSealedAnew() throws {
        let before = try world.sealed()
        try change(to: "new")
        #expect(try world.sealed() != before && world.sealed() != "" && world.plain() == "")
        #expect(try !world.hasRetiringKeys())
        #expect(try world.load() == "one" && world.load("bob") == "two")
        let other = try world.open()
        try other.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try world.load() }
        try other.unlock(SecretBytes("new"))
        #expect(try world.load(in: other) == "one" && world.load("bob", in: other) == "two")
        // No key opens a copy of the sealed item that somebody kept from before.
        try world.tamper("item.set_secret_sync(Secret.Value.new('\(before)', -1, 'text/plain'), None)")
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.load() }
    }

    @Test func theKeysWaitForAServiceThatIsAway() throws {
        world.stopService()
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.hasRetiringKeys())
        let outcome = try world.store.unlock(SecretBytes("new"))
        #expect(outcome.problem?.status == .unavailable, "it is unlocked all the same")
        try world.keyring.restart()
        let before = try world.sealed()
        #expect(try world.load() == "one" && world.load("bob") == "two", "under the old key")
        let other = try world.open()
        #expect(try other.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys())
        #expect(try world.sealed() != before)
        #expect(try world.load() == "one" && world.load("bob", in: other) == "two")
    }

    @Test func theKeysWaitForThePendingWritesThatReplaceTheItems() throws {
        world.stopService()
        try world.save("newer", level: .whenUnlocked)
        try world.save("newer two", account: "bob", level: .afterFirstUnlock, flags: .requireEnforced)
        let text = errorText { try change(to: "new") }
        #expect(text.contains("is not yet sealed anew in"))
        #expect(try world.hasRetiringKeys())
        try world.keyring.restart()
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys())
        #expect(try world.load() == "newer" && world.load("bob") == "newer two")
    }

    @Test func theyWaitForAStackWithoutTheModule() throws {
        let vaultAlone = try world.open(stack: "any required vault")
        let text = errorText { try change(to: "new", in: vaultAlone) }
        #expect(text.contains("the stack has no module secret-service, which holds items that the vault sealed"))
        #expect(try world.load() == "one")
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys() && world.load() == "one")
    }

    /// Changes an item's notes to another machine, as in a home that was moved or is shared.
    private func moveCopies(of account: String, to machine: MachineID) throws {
        let opened = try #require(try world.store.records.open())
        try CopyChanges(opened).change(of: ItemName(service: "example.com", account: account)) {
            copies in
            let holders = copies?.holders ?? []
            copies?.holders = holders.map {
                SealedCopies.Holder(
                    module: $0.module, machine: opened.keys.journal.machine(machine.bytes), keyIDs: $0.keyIDs,
                    fingerprints: $0.fingerprints)
            }
        }
    }

    private let anotherMachine = MachineID(bytes: Array(0..<16))

    @Test func aMovedHomeTakesItsItemsAlong() throws {
        for account in ["ann", "bob"] { try moveCopies(of: account, to: anotherMachine) }
        try change(to: "new")
        #expect(try !world.hasRetiringKeys())
        #expect(try world.load() == "one" && world.load("bob") == "two")
    }

    @Test func anotherMachinesItemsAreWaitedFor() throws {
        try moveCopies(of: "ann", to: anotherMachine)
        let sealed = try world.sealed()
        try world.tamper("item.delete_sync(None)")
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.hasRetiringKeys() && world.load("bob") == "two")
        #expect(try world.store.unlock(SecretBytes("new")).problem?.status == .unavailable)
        // The item reappears on this machine, under the old key.
        _ = try world.keyring.bus.secretTool(
            "store", "--label", "ann", "tokenkeep:service", "example.com", "tokenkeep:account", "ann",
            "tokenkeep:namespace", "", "tokenkeep:access", "when-unlocked", "tokenkeep:encoding", "base64",
            "tokenkeep:sealed", try #require(try VaultSealer(world.store.records).vaultID()), input: sealed)
        #expect(try world.load() == "one")
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys() && world.load() == "one")
    }

    /// Only the user knows whether the missing item is gone for good.
    @Test func whatIsMissingIsWaitedForUntilItIsCleared() throws {
        try world.tamper("item.delete_sync(None)")
        let text = errorText { try change(to: "new") }
        #expect(text.contains("example.com (ann), which the vault sealed in secret-service, is not there"))
        #expect(try world.hasRetiringKeys())
        _ = try world.clear()
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.hasRetiringKeys() && world.load("bob") == "two")
    }

    /// A vault restored from before its first sealed item has no note of the item.
    @Test func whatIsNotNotedFollowsWhereTheServiceTellsOfIt() throws {
        for record in world.directory.names(in: "vault/current/records") {
            try #require(unlink(world.directory.path + "/vault/current/records/" + record) == 0)
        }
        #expect(try world.load() == "one" && world.load(in: world.open()) == "one")
        try change(to: "new")
        #expect(try !world.hasRetiringKeys() && world.load() == "one" && world.load("bob") == "two")
    }

    /// A header of an earlier era is refused, so that nothing is saved under its keys.
    @Test func anEarlierErasHeaderIsRefusedUntilTheRightOneIsBack() throws {
        let headers = ["vault/current/header", "vault/current/header.2"]
        let earlier = headers.map { world.directory.read($0) ?? [] }
        try change(to: "new")
        let present = headers.map { world.directory.read($0) ?? [] }
        for (file, bytes) in zip(headers, earlier) { world.directory.write(bytes, to: file) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.load() }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.save("lost", level: .whenUnlocked) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.store.unlock(world.password) }
        for (file, bytes) in zip(headers, present) { world.directory.write(bytes, to: file) }
        #expect(try world.load() == "one" && world.load("bob") == "two")
    }

    /// While a change of keys waits for a module, the user can still change the password and use a recovery code.
    @Test func aPendingChangeLeavesTheUserHisPassword() throws {
        world.stopService()
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        // The password changes, while the keys of the service's items stay as they are.
        let changed = try world.store.passwords.change(
            from: SecretBytes("new"), to: SecretBytes("newer"), isCompromised: false)
        #expect(changed.problem?.status == .unavailable)
        let code = try world.store.passwords.createRecoveryCode(password: SecretBytes("newer"))
        let recovered = try world.store.passwords.recover(code: code, newPassword: SecretBytes("newest"))
        #expect(recovered.problem?.status == .unavailable)
        #expect(try world.hasRetiringKeys())
        try world.keyring.restart()
        try world.store.lock()
        #expect(try world.store.unlock(SecretBytes("newest")).problem == nil)
        #expect(try !world.hasRetiringKeys() && world.load() == "one" && world.load("bob") == "two")
    }

    @Test func anAttributeThatCannotBeReadKeepsItsItemWaitingAlone() throws {
        let before = try world.sealed("bob")
        try world.tamper(
            "item.set_attributes_sync(None, dict(item.get_attributes(), **{'tokenkeep:flags': 'abc'}), None)")
        #expect(throws: TokenKeepError(.corrupt, "")) { try change(to: "new") }
        #expect(try world.sealed("bob") != before && world.load("bob") == "two")
        try world.tamper(
            "item.set_attributes_sync(None, dict(item.get_attributes(), **{'tokenkeep:flags': '0'}), None)")
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try world.load() == "one" && !world.hasRetiringKeys())
    }

    @Test func pendingWritesAreDrainedFirst() throws {
        world.stopService()
        _ = try world.clear("bob")
        try world.save("newer")
        try world.keyring.restart()
        try change(to: "new")
        #expect(try !world.hasRetiringKeys())
        #expect(try world.load() == "newer" && world.open().pendingChanges.report().entries.isEmpty)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
        #expect(try world.sealed("bob") == "")
    }

    @Test func aRemovedPasswordLeavesNothingSealed() throws {
        #expect(throws: TokenKeepError(.policy, "")) { try remove() }
        #expect(try world.load() == "one" && world.load("bob") == "two")
        #expect(try world.clear("bob"))
        try remove()
        #expect(try world.plain() == "one" && world.sealed() == "")
        #expect(try world.load() == "one" && !world.hasRetiringKeys())
        #expect(try world.open().list().items.count == 1)
    }

    @Test func whatNeedsAPasswordIsDestroyedWithIt() throws {
        try remove(isDestroying: true)
        #expect(try world.sealed("bob") == "" && world.load() == "one")
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
    }

    @Test func whatNeedsAPasswordIsKnownWithoutTheService() throws {
        world.stopService()
        #expect(throws: TokenKeepError(.policy, "")) { try remove() }
        #expect(throws: TokenKeepError(.unavailable, "")) { try remove(isDestroying: true) }
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
        try world.keyring.restart()
        #expect(try world.load() == "one" && world.hasRetiringKeys())
        #expect(try world.store.unlock(world.password).problem == nil)
        #expect(try world.store.pendingChanges.sync().left == 0)
        #expect(try world.plain() == "one" && !world.hasRetiringKeys() && world.sealed("bob") == "")
    }

    /// While the service is unavailable, the keyfile's slot keeps the old keys.
    @Test func aPasswordThatIsRemovedAndSetAgainWhileTheServiceIsAwayLosesNothing() throws {
        world.stopService()
        #expect(throws: TokenKeepError(.unavailable, "")) { try remove(isDestroying: true) }
        #expect(throws: TokenKeepError(.unavailable, "")) { try world.setPassword() }
        try world.keyring.restart()
        #expect(try world.load() == "one" && world.hasRetiringKeys())
        #expect(try world.store.unlock(world.password).problem == nil)
        #expect(try !world.hasRetiringKeys() && world.load() == "one" && world.sealed() != "")
    }

    @Test func itemsThatAskAtEachUseFollowToo() throws {
        let password = world.password
        try world.save("each use", account: "eve", flags: .userPresence, in: world.openAsking { _ in password })
        try change(to: "new")
        #expect(try !world.hasRetiringKeys())
        let new = try SecretBytes("new")
        #expect(try world.load("eve", in: world.openAsking { _ in new }) == "each use")
    }

    @Test func aForgottenModuleKeepsNothingWaiting() throws {
        world.stopService()
        _ = try world.store.pendingChanges.forget(module: "secret-service")
        try change(to: "new")
        #expect(try !world.hasRetiringKeys())
    }

    /// Concurrent readers find each item at every moment of a change of keys.
    @Test func noReaderMissesItMeanwhile() throws {
        for number in 0..<20 { try world.save("token \(number)", account: "user\(number)", level: .whenUnlocked) }
        let reader = try world.open()
        let isOver = MutexGuarded(false)
        let failures = MutexGuarded<[String]>([])
        let thread = TestThread {
            while !isOver.withLock({ $0 }) {
                for number in 0..<20 {
                    let text = try? world.load("user\(number)", in: reader)
                    guard text != "token \(number)" else { continue }
                    failures.withLock { $0.append("user\(number)") }
                }
            }
        }
        try change(to: "new")
        isOver.withLock { $0 = true }
        thread.join()
        #expect(failures.withLock { $0 } == [])
    }
}
