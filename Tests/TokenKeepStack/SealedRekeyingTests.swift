import TestSupport
import Testing
import TokenKeepCore
import TokenKeepVault

@testable import TokenKeepStack

/// What the vault sealed for the Secret Service follows when its keys are replaced.
@Suite struct SealedRekeyingTests {
    private let world: SealingWorld

    init() throws {
        world = try SealingWorld()
        try world.save("one", level: .whenUnlocked)
        try world.save("two", account: "bob", level: .afterFirstUnlock, flags: .requireEnforced)
    }

    private func change(to new: String, in store: Store? = nil) throws {
        _ = try (store ?? world.store).withVaultForPasswords { vault, call throws(TokenKeepError) in
            try vault.changePassword(from: world.password, to: SecretBytes(new), isCompromised: true, call)
        }
    }

    private func remove(isDestroying: Bool = false) throws {
        try world.store.withVaultForPasswords { vault, call throws(TokenKeepError) in
            _ = try vault.removePassword(world.password, isDestroying: isDestroying, call)
        }
    }

    @Test func itIsSealedAnew() throws {
        let before = try world.sealed()
        try change(to: "new")
        #expect(try world.sealed() != before && world.sealed() != "" && world.plain() == "")
        #expect(try !world.isRekeying())
        #expect(try world.load() == "one" && world.load("bob") == "two")
        let other = try world.open()
        try other.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try world.load() }
        try other.unlock(SecretBytes("new"))
        #expect(try world.load(in: other) == "one" && world.load("bob", in: other) == "two")
        // What somebody kept of it from before no key opens any more.
        try world.tamper("item.set_secret_sync(Secret.Value.new('\(before)', -1, 'text/plain'), None)")
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.load() }
    }

    @Test func theKeysWaitForAServiceThatIsAway() throws {
        world.stopService()
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.isRekeying())
        let outcome = try world.store.unlock(SecretBytes("new"))
        #expect(outcome.problem?.status == .unavailable, "it is unlocked all the same")
        try world.keyring.restart()
        let before = try world.sealed()
        #expect(try world.load() == "one" && world.load("bob") == "two", "under the old key")
        let other = try world.open()
        #expect(try other.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.isRekeying())
        #expect(try world.sealed() != before)
        #expect(try world.load() == "one" && world.load("bob", in: other) == "two")
    }

    @Test func theyWaitForAStackWithoutTheModule() throws {
        let vaultAlone = try world.open(stack: "any required vault")
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new", in: vaultAlone) }
        #expect(try world.load() == "one")
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.isRekeying() && world.load() == "one")
    }

    @Test func anotherMachinesItemsAreWaitedFor() throws {
        let marks = "vault/sealed"
        let mine = try #require(world.directory.names(in: marks).first)
        let theirs = "secret-service@00112233445566778899aabbccddeeff"
        world.directory.write([], to: "\(marks)/\(theirs)")
        #expect(throws: TokenKeepError(.unavailable, "")) { try change(to: "new") }
        #expect(try world.isRekeying() && world.load() == "one")
        // Ours need not be gone through twice; theirs go there, here by hand.
        let sealed = try world.sealed()
        world.directory.write(world.directory.read("\(marks)/\(mine)") ?? [], to: "\(marks)/\(theirs)")
        #expect(try world.store.unlock(SecretBytes("new")).problem == nil)
        #expect(try !world.isRekeying() && world.sealed() == sealed && world.load() == "one")
    }

    @Test func whatItOwesIsSettledFirst() throws {
        world.stopService()
        _ = try world.clear("bob")
        try world.save("newer")
        try world.keyring.restart()
        try change(to: "new")
        #expect(try !world.isRekeying())
        #expect(try world.load() == "newer" && world.open().owed().entries.isEmpty)
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
        #expect(try world.sealed("bob") == "")
    }

    @Test func aRemovedPasswordLeavesNothingSealed() throws {
        #expect(throws: TokenKeepError(.policy, "")) { try remove() }
        #expect(try world.load() == "one" && world.load("bob") == "two")
        #expect(try world.clear("bob"))
        try remove()
        #expect(try world.plain() == "one" && world.sealed() == "")
        #expect(try world.load() == "one" && !world.isRekeying())
        #expect(try world.open().list().items.count == 1)
    }

    @Test func whatNeedsAPasswordIsDestroyedWithIt() throws {
        try remove(isDestroying: true)
        #expect(try world.sealed("bob") == "" && world.load() == "one")
        #expect(throws: TokenKeepError(.notFound, "")) { try world.load("bob") }
    }

    @Test func aPasswordStaysWhileNobodyKnowsWhatNeedsIt() throws {
        world.stopService()
        for isDestroying in [false, true] {
            #expect(throws: TokenKeepError(.unavailable, "")) { try remove(isDestroying: isDestroying) }
        }
        try world.keyring.restart()
        #expect(try world.load() == "one" && world.load("bob") == "two" && !world.isRekeying())
    }

    @Test func itemsThatAskAtEachUseFollowToo() throws {
        let password = world.password
        try world.save("each use", account: "eve", flags: .userPresence, in: world.open { _ in password })
        try change(to: "new")
        #expect(try !world.isRekeying())
        let new = try SecretBytes("new")
        #expect(try world.load("eve", in: world.open { _ in new }) == "each use")
    }

    @Test func aForgottenModuleKeepsNothingWaiting() throws {
        world.stopService()
        _ = try world.store.forget(module: "secret-service")
        try change(to: "new")
        #expect(try !world.isRekeying())
    }

    /// Readers find the item at every moment.
    @Test func noReaderMissesItMeanwhile() throws {
        for number in 0..<20 { try world.save("token \(number)", account: "user\(number)", level: .whenUnlocked) }
        let reader = try world.open()
        let isOver = Guarded(false)
        let failures = Guarded<[String]>([])
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
