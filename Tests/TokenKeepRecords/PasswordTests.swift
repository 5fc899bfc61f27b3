import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

@Suite struct PasswordTests {
    private let locked = LockedVault()

    @Test func theFirstPasswordKeepsEveryItemAndLocks() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        let before = locked.recordFiles.map { locked.file("records/" + $0) }
        let keyfile = locked.file("keyfile")
        #expect(try locked.setPassword().reasonForMemory == nil)
        #expect(locked.era == "vault/era-2" && locked.directory.names(in: "vault/era-1").isEmpty)
        #expect(try locked.load("a", from: locked.other()) == "secret")
        #expect(try locked.load("b", from: locked.other()) == "secret")
        // Metadata and secrets are sealed anew, under keys that no keyfile ever opened.
        let after = locked.recordFiles.map { locked.file("records/" + $0) }
        #expect(Set(before).isDisjoint(with: after) && after.count == 2 && locked.file("keyfile") != keyfile)
        let header = try #require(try locked.records.open()).keys.header
        #expect(header.slot(.keyfile) == nil && header.hasPassword && header.era == 2 && header.epoch == 1)

        try locked.store.lock()
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
        try locked.store.lock()
        let listing = try locked.list()
        #expect(listing.items.isEmpty && listing.problem?.status == .locked)
    }

    @Test func theScreenLockEndsOneLevelAlone() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        try locked.setPassword()
        try locked.store.lock(.screen)
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a", from: locked.other()) }
        #expect(throws: TokenKeepError(.locked, "")) { try locked.save("c", level: .whenUnlocked) }
        #expect(try locked.load("b", from: locked.other()) == "secret")
        let listing = try locked.list()
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
        let old = HeaderFiles.names + [Keyfile.name]
        let backup = old.map(locked.file)
        try locked.setPassword()
        try locked.save("b", "late")
        try locked.store.lock()
        for keptKeyfile in [true, false] {
            for (name, bytes) in zip(old, backup) where !(keptKeyfile && name == Keyfile.name) {
                locked.write(bytes, to: name)
            }
            let thief = locked.elsewhere()
            // Neither what was saved later, nor what was saved before and sealed anew.
            for account in ["a", "b"] {
                #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load(account, from: thief) }
            }
        }
    }

    @Test func aCopyOnAnotherMachineOpensWithThePasswordAlone() throws {
        try locked.save("a")
        try locked.setPassword()
        let elsewhere = locked.elsewhere()
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("a", from: elsewhere) }
        try locked.unlock("old", elsewhere)
        #expect(try locked.load("a", from: elsewhere) == "secret")
    }

    @Test func withoutAPasswordThereIsNothingToLock() throws {
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.store.lock() }
        try locked.save("a")
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.store.lock() }
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.unlock() }
        #expect(try locked.load("a") == "secret")
    }

    @Test(arguments: [0, 4097]) func aPasswordHasALength(count: Int) throws {
        #expect(throws: TokenKeepError(.invalid, "")) {
            try locked.store.passwords.set(SecretBytes(count: count, initialize: { _ in }))
        }
        #expect(throws: TokenKeepError(.invalid, "")) {
            try locked.setPassword()
            try locked.setPassword("twice")
        }
    }

    @Test func aChangeReplacesThePasswordAndNoKey() throws {
        try locked.save("a")
        try locked.setPassword()
        let record = locked.file("records/" + locked.recordFiles[0])
        let epoch = try #require(try locked.records.open()).keys.header.epoch
        #expect(throws: TokenKeepError(.denied, "")) { try locked.changePassword(from: "wrong") }
        try locked.changePassword()
        #expect(locked.file("records/" + locked.recordFiles[0]) == record)
        #expect(try #require(try locked.records.open()).keys.header.epoch == epoch + 1)
        #expect(locked.file("header") == locked.file("header.2"))
        try locked.store.lock()
        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("old") }
        try locked.unlock("new")
        #expect(try locked.load("a") == "secret")
    }

    @Test func aCompromisedPasswordOpensNothingLater() throws {
        try locked.save("a")
        try locked.setPassword()
        try locked.save("p", flags: .userPresence, presence: locked.presence())
        let code = try locked.store.passwords.createRecoveryCode(password: SecretBytes("old"))
        let (header, keyfile) = (locked.file("header"), locked.file("keyfile"))
        try locked.changePassword(isCompromised: true)
        #expect(try locked.load("a", from: locked.other()) == "secret")
        #expect(try locked.load("p", presence: locked.presence("new")) == "secret")
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try locked.store.passwords.recover(code: code, newPassword: SecretBytes("x"))
        }
        try locked.save("b", "late")
        try locked.store.lock()
        locked.putHeader(header)
        locked.write(keyfile, to: "keyfile")
        let thief = locked.elsewhere()
        // The keyfile and header of an era fit no other.
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old", thief) }
        for account in ["a", "b", "p"] {
            #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load(account, from: thief) }
        }
    }

    @Test func aRemovedPasswordLeavesEverythingReadable() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.setPassword()
        try locked.save("b")
        let header = locked.file("header")
        let keys = try #require(try locked.records.open()).keys
        let places = keys.header.knownSlots.flatMap(\.keys).map {
            ClassKeyPlace.of($0.id, for: $0.purpose, keys.vaultID)
        }
        try locked.removePassword()
        let elsewhere = locked.elsewhere()
        #expect(try locked.load("a", from: elsewhere) == "secret" && locked.load("b", from: elsewhere) == "secret")
        #expect(try places.allSatisfy { try KernelKeyring.read($0, atMost: 32) == nil })
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.unlock() }
        // The old header with the old password opens nothing of it.
        locked.putHeader(header)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old", elsewhere) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load("a", from: elsewhere) }
    }

    @Test func whatNeedsThePasswordKeepsItOrIsDestroyed() throws {
        try locked.setPassword()
        try locked.save("a")
        try locked.save("e", flags: .requireEnforced)
        try locked.save("p", flags: .userPresence, presence: locked.presence())
        try locked.store.lock()
        #expect(throws: TokenKeepError(.policy, "")) {
            try locked.removePassword()
        }
        // Refused: the vault stays locked.
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("e") }
        try locked.unlock()
        #expect(try locked.load("e") == "secret")
        try locked.removePassword(isDestroying: true)
        #expect(try locked.load("a") == "secret")
        for account in ["e", "p"] {
            #expect(throws: TokenKeepError(.notFound, "")) { try locked.load(account) }
        }
    }
}

@Suite struct RecoveryTests {
    private let locked = LockedVault()

    @Test func aCodeGivesAnotherPassword() throws {
        try locked.save("a")
        try locked.setPassword()
        try locked.save("p", flags: .userPresence, presence: locked.presence())
        let code = try locked.store.passwords.createRecoveryCode(password: SecretBytes("old"))
        let text = try #require(code.utf8String)
        #expect(text.split(separator: "-").map(\.count) == [5, 5, 5, 5, 5, 5])
        try locked.store.lock()
        let typed = try SecretBytes(text.lowercased().replacing("-", with: " "))
        _ = try locked.store.passwords.recover(code: typed, newPassword: SecretBytes("new"))
        let grant = try locked.presence("new")
        #expect(try locked.load("a", from: locked.other()) == "secret")
        // What asks at each use is lost, and says why.
        #expect {
            try locked.load("p", presence: grant)
        } throws: { error in
            (error as? TokenKeepError)?.status == .corrupt
                && (error as? TokenKeepError)?.message.contains("recovered") == true
        }
        try locked.store.lock()
        #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("old") }
        try locked.unlock("new")
        // The code stays good until another is made.
        _ = try locked.store.passwords.recover(code: code, newPassword: SecretBytes("third"))
        let second = try locked.store.passwords.createRecoveryCode(password: SecretBytes("third"))
        #expect(throws: TokenKeepError(.denied, "")) {
            try locked.store.passwords.recover(code: code, newPassword: SecretBytes("x"))
        }
        _ = try locked.store.passwords.recover(code: second, newPassword: SecretBytes("x"))
    }
}
