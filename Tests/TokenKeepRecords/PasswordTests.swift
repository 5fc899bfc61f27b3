import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys

@testable import TokenKeepRecords

@Suite struct PasswordTests {
    private let locked = LockedVault()

    @Test func theFirstPasswordKeepsEveryItemAndLocks() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        let before = locked.records.map { locked.file("records/" + $0) }
        let unlocking = try locked.setPassword()
        #expect(unlocking.reasonForMemory == nil && !unlocking.isRekeying)
        #expect(try locked.load("a", from: locked.other()) == "secret")
        #expect(try locked.load("b", from: locked.other()) == "secret")
        // Metadata and secrets are sealed anew, under keys that no keyfile ever opened.
        let after = locked.records.map { locked.file("records/" + $0) }
        #expect(Set(before).isDisjoint(with: after))
        let header = try #require(try locked.vault.open()).keys.header
        #expect(header.slots(of: .keyfile).isEmpty && header.hasPassword && !header.isRekeying)

        try locked.vault.lock()
        for account in ["a", "b"] {
            #expect(throws: TokenKeepError(.locked, "")) { try locked.load(account) }
            #expect(throws: TokenKeepError(.locked, "")) { try locked.load(account, from: locked.other()) }
        }
        #expect(throws: TokenKeepError(.notFound, "")) { try locked.load("c") }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("c") }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("b") }
        #expect(try locked.clear("b") && !locked.clear("c"))
        #expect(throws: TokenKeepError(.notFound, "")) { try locked.load("b") }
        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("wrong") }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a") }
        try locked.unlock()
        #expect(try locked.load("a", from: locked.other()) == "secret")
    }

    @Test func aListOfALockedVaultSaysSo() throws {
        try locked.save("a")
        try locked.setPassword()
        try locked.vault.lock()
        let listing = try VaultModule(vault: locked.vault).list(namespace: "", service: nil, locked.call)
        #expect(listing.items.isEmpty && listing.problem?.status == .locked)
    }

    @Test func theScreenLockEndsOneLevelAlone() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        try locked.setPassword()
        try locked.vault.lock(.screen)
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a", from: locked.other()) }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("c", level: .whenUnlocked) }
        #expect(try locked.load("b", from: locked.other()) == "secret")
        let listing = try VaultModule(vault: locked.vault).list(namespace: "", service: nil, locked.call)
        #expect(listing.items.count == 2 && listing.problem == nil)
    }

    @Test func theKernelEndsTheKeyOfTheFirstLevel() throws {
        try locked.setPassword()
        let keys = try locked.kernelKeys()
        #expect([":1:", ":2:", ":17:"].allSatisfy { purpose in keys.contains { $0.contains(purpose) } })
        // The fourth column is the time left, the fifth the permissions: of the user alone, of no possessor.
        for key in keys {
            let words = key.split(separator: " ")
            let isFirst = key.contains(":1:")
            #expect(isFirst ? ["2m", "3m"].contains(words[3]) : words[3] == "perm", "\(key)")
            #expect(words[4] == "003b0000", "\(key)")
        }
    }

    @Test func aBackupFromBeforeThePasswordOpensNothingLater() throws {
        try locked.save("a", "early")
        let header = locked.file("header")
        try locked.setPassword()
        try locked.save("b", "late")
        try locked.vault.lock()
        for name in ["header", "header.2"] { locked.directory.write(header, to: "vault/" + name) }
        let thief = Vault(arena: SecretArena(), path: locked.path, keyringObstacle: "another machine")
        // Neither what was saved later, nor what was saved before and sealed anew.
        for account in ["a", "b"] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load(account, from: thief) }
        }
    }

    @Test func aCopyOnAnotherMachineOpensWithThePasswordAlone() throws {
        try locked.save("a")
        try locked.setPassword()
        let elsewhere = Vault(arena: SecretArena(), path: locked.path, keyringObstacle: "another machine")
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a", from: elsewhere) }
        try locked.unlock("old", elsewhere)
        #expect(try locked.load("a", from: elsewhere) == "secret")
    }

    @Test func withoutAPasswordThereIsNothingToLock() throws {
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.vault.lock() }
        try locked.save("a")
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.vault.lock() }
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.unlock() }
        #expect(try locked.load("a") == "secret")
    }

    @Test(arguments: [0, 4097]) func aPasswordHasALength(count: Int) throws {
        #expect(throws: TokenKeepError(.invalid, "")) {
            try locked.vault.setPassword(SecretBytes(count: count, initialize: { _ in }), locked.call)
        }
        #expect(throws: TokenKeepError(.invalid, "")) {
            try locked.setPassword()
            try locked.setPassword("twice")
        }
    }

    @Test func aChangeReplacesThePasswordAndNoKey() throws {
        try locked.save("a")
        try locked.setPassword()
        let record = locked.file("records/" + locked.records[0])
        let vault = locked.vault
        #expect(throws: TokenKeepError(.denied, "")) {
            try vault.changePassword(
                from: SecretBytes("wrong"), to: SecretBytes("new"), isCompromised: false, locked.call)
        }
        _ = try vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: false, locked.call)
        #expect(locked.file("records/" + locked.records[0]) == record)
        try vault.lock()
        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("old") }
        try locked.unlock("new")
        #expect(try locked.load("a") == "secret")
    }

    @Test func aCompromisedPasswordOpensNothingLater() throws {
        try locked.save("a")
        let presence = try locked.setPassword().presence
        try locked.save("p", flags: .userPresence, presence: presence)
        let code = try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
        let header = locked.file("header")
        let unlocking = try locked.vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true, locked.call)
        #expect(try locked.load("a", from: locked.other()) == "secret")
        #expect(try locked.load("p", presence: unlocking.presence) == "secret")
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try locked.vault.recover(code: code, newPassword: SecretBytes("x"), locked.call)
        }
        try locked.save("b", "late")
        try locked.vault.lock()
        for name in ["header", "header.2"] { locked.directory.write(header, to: "vault/" + name) }
        let thief = Vault(arena: SecretArena(), path: locked.path, keyringObstacle: "another machine")
        let grant = try locked.unlock("old", thief).presence
        for account in ["a", "b", "p"] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load(account, from: thief, presence: grant) }
        }
    }

    @Test func aRemovedPasswordLeavesEverythingReadable() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.setPassword()
        try locked.save("b")
        let header = locked.file("header")
        let keys = try #require(try locked.vault.open()).keys
        let places = keys.header.slots.flatMap(\.keys).map {
            ResidentKeys.place(of: $0.id, for: $0.purpose, keys.vaultID)
        }
        try locked.vault.removePassword(SecretBytes("old"), isDestroying: false, locked.call)
        let elsewhere = Vault(arena: SecretArena(), path: locked.path, keyringObstacle: "another machine")
        #expect(try locked.load("a", from: elsewhere) == "secret" && locked.load("b", from: elsewhere) == "secret")
        #expect(try places.allSatisfy { try KernelKeyring.read($0, in: SecretArena()) == nil })
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.unlock() }
        // The old header with the old password opens nothing of it.
        for name in ["header", "header.2"] { locked.directory.write(header, to: "vault/" + name) }
        try locked.unlock("old", elsewhere)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load("a", from: elsewhere) }
    }

    @Test func whatNeedsThePasswordKeepsItOrIsDestroyed() throws {
        let presence = try locked.setPassword().presence
        try locked.save("a")
        try locked.save("e", flags: .requireEnforced)
        try locked.save("p", flags: .userPresence, presence: presence)
        try locked.vault.lock()
        #expect(throws: TokenKeepError(.policy, "")) {
            try locked.vault.removePassword(SecretBytes("old"), isDestroying: false, locked.call)
        }
        #expect(try locked.load("e") == "secret")
        try locked.vault.removePassword(SecretBytes("old"), isDestroying: true, locked.call)
        #expect(try locked.load("a") == "secret")
        for account in ["e", "p"] {
            #expect(throws: TokenKeepError(.notFound, "")) { try locked.load(account) }
        }
    }

    /// A call that changes passwords may take as long as it needs, but not as long as another process likes.
    @Test func anItemThatIsHeldHoldsNoDestruction() throws {
        try locked.setPassword()
        try locked.save("e", flags: .requireEnforced)
        let holder = try #require(LockHolder(locked.path + "/lock"))
        defer { holder.release() }
        let patience = Deadline(milliseconds: 15_000)
        #expect {
            try locked.vault.removePassword(SecretBytes("old"), isDestroying: true, locked.call)
        } throws: { error in
            (error as? TokenKeepError)?.status == .busy
                && (error as? TokenKeepError)?.message.contains("s (e)") == true
        }
        #expect(!patience.hasPassed)
        #expect(try locked.load("e") == "secret")
    }
}

@Suite struct RecoveryTests {
    private let locked = LockedVault()

    @Test func aCodeGivesAnotherPassword() throws {
        try locked.save("a")
        let presence = try locked.setPassword().presence
        try locked.save("p", flags: .userPresence, presence: presence)
        let code = try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
        let text = try #require(code.utf8String)
        #expect(text.split(separator: "-").map(\.count) == [5, 5, 5, 5, 5, 5])
        try locked.vault.lock()
        let typed = try SecretBytes(text.lowercased().replacing("-", with: " "))
        let grant = try locked.vault.recover(code: typed, newPassword: SecretBytes("new"), locked.call).presence
        #expect(try locked.load("a", from: locked.other()) == "secret")
        // What asks at each use is lost, and says why.
        #expect {
            try locked.load("p", presence: grant)
        } throws: { error in
            (error as? TokenKeepError)?.status == .corrupt
                && (error as? TokenKeepError)?.message.contains("recovered") == true
        }
        try locked.vault.lock()
        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("old") }
        try locked.unlock("new")
        // The code stays good until another is made.
        _ = try locked.vault.recover(code: code, newPassword: SecretBytes("third"), locked.call)
        let second = try locked.vault.createRecoveryCode(password: SecretBytes("third"), locked.call)
        #expect(throws: TokenKeepError(.denied, "")) {
            try locked.vault.recover(code: code, newPassword: SecretBytes("x"), locked.call)
        }
        _ = try locked.vault.recover(code: second, newPassword: SecretBytes("x"), locked.call)
    }

    @Test func everyWrongSymbolAndEveryExchangeIsNoticed() throws {
        let arena = SecretArena()
        let code = try RecoveryCode.normalized(RecoveryCode.make(in: arena), in: arena)
        let symbols = Array("0123456789ABCDEFGHJKMNPQRSTVWXY".utf8)
        let good = code.withUnsafeBytes { Array($0) }
        func isRefused(_ typed: [UInt8]) -> Bool {
            (try? RecoveryCode.normalized(SecretBytes(bytes: typed), in: arena)) == nil
        }
        #expect(!isRefused(good))
        for index in good.indices {
            for symbol in symbols where symbol != good[index] {
                var typed = good
                typed[index] = symbol
                #expect(isRefused(typed))
            }
            for other in good.indices where good[other] != good[index] {
                var typed = good
                typed.swapAt(index, other)
                #expect(isRefused(typed))
            }
        }
        #expect(isRefused(good.dropLast()) && isRefused(good + [symbols[0]]) && isRefused([]))
    }
}
