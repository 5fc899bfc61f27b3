import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Keys are replaced while others read, and the change is cut short.
@Suite struct RekeyingTests {
    private let locked = LockedVault()
    private static let accounts = (0..<20).map { "account \($0)" }

    private func fill() throws {
        for (index, account) in Self.accounts.enumerated() {
            try locked.save(account, account, level: index % 2 == 0 ? .whenUnlocked : .afterFirstUnlock)
        }
    }

    private func everythingIsReadable(from vault: Vault? = nil) throws -> Bool {
        let vault = vault ?? locked.other()
        return try Self.accounts.allSatisfy { try locked.load($0, from: vault) == $0 }
    }

    private struct Stop: Error {}

    private static func ofLaterVersion(_ record: [UInt8]) -> [UInt8] {
        var record = record
        record[8] = 9
        return record
    }

    @Test func aDamagedRecordKeepsNoOtherWaiting() throws {
        try fill()
        let name = "vault/records/" + locked.records[3]
        var bad = try #require(locked.directory.read(name))
        bad[bad.count - 1] ^= 1
        locked.directory.write(bad, to: name)
        #expect(try locked.setPassword().unreadable == 1)
        #expect(try !(#require(try locked.other().open())).keys.header.isRekeying)
        #expect(locked.directory.read(name) == bad)
        let statuses = Self.accounts.map { account -> Status in
            do { return try locked.load(account) == account ? .ok : .internal } catch {
                return (error as? TokenKeepError)?.status ?? .internal
            }
        }
        #expect(statuses.count { $0 == .ok } == Self.accounts.count - 1 && statuses.contains(.corrupt))
    }

    @Test func theSlowerOfTwoWhoFinishIsDoneToo() throws {
        try fill()
        let name = "vault/records/" + locked.records[0]
        let good = try #require(locked.directory.read(name))
        locked.directory.write(Self.ofLaterVersion(good), to: name)
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.setPassword() }
        locked.directory.write(good, to: name)
        let unlocking = try locked.unlock()
        try locked.vault.finishRekeying(unlocking, locked.call) { done, total in
            guard done == total else { return }
            #expect(throws: Never.self) { try locked.other().finishRekeying(unlocking, locked.call) }
        }
        #expect(try everythingIsReadable())
    }

    @Test func anItemThatNoKeyOpensAnyMoreCanBeDestroyed() throws {
        let presence = try locked.setPassword().presence
        try locked.save("kept", "kept")
        try locked.save("lost", flags: .userPresence, presence: presence)
        let code = try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
        _ = try locked.vault.recover(code: code, newPassword: SecretBytes("new"), locked.call)
        let unlocking = try locked.vault.changePassword(
            from: SecretBytes("new"), to: SecretBytes("newer"), isCompromised: true, locked.call)
        #expect(unlocking.unreadable == 1)
        #expect(throws: TokenKeepError(.policy, "")) {
            try locked.vault.removePassword(SecretBytes("newer"), isDestroying: false, locked.call)
        }
        try locked.vault.removePassword(SecretBytes("newer"), isDestroying: true, locked.call)
        #expect(throws: TokenKeepError(.notFound, "")) { try locked.load("lost") }
        #expect(try locked.load("kept") == "kept")
    }

    @Test func aSlotThatCannotBeWrittenAnewKeepsTheKeys() throws {
        try fill()
        let header = try #require(try locked.vault.open()).keys.header
        #expect(throws: Never.self) { try Vault.checkReplaceable(header) }
        let foreign = header.with(slots: header.slots + [.other(type: 77, bytes: [1, 2, 3])])
        #expect(throws: TokenKeepError(.unsupported, "")) { try Vault.checkReplaceable(foreign) }
    }

    @Test(arguments: [0, 1, 7, 19]) func whatWasCutShortGoesOn(after count: Int) throws {
        try fill()
        let opened = try #require(try locked.vault.open())
        // One record waits: it seems to be of a later version of the format.
        let name =
            "records/"
            + (try RecordNames.all(in: locked.vault.records(of: opened.directory)).map(RecordNames.fileName)[count])
        let good = locked.file(name)
        locked.directory.write(Self.ofLaterVersion(good), to: "vault/" + name)
        #expect(throws: TokenKeepError(.unsupported, "")) { try locked.setPassword() }
        locked.directory.write(good, to: "vault/" + name)
        let header = try #require(try locked.other().open()).keys.header
        #expect(header.isRekeying && header.hasPassword)
        #expect(try everythingIsReadable())
        // Nothing more is sealed under the old keys.
        try locked.save("new", "new")
        try locked.vault.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load("new") }
        let protection = try locked.vault.protection(of: .afterFirstUnlock, [])
        #expect(protection[.diskTheft].strength == .advisory)
        // What is saved now is sealed under the new keys alone.
        try locked.unlock()
        try locked.save("demands", flags: .requireEnforced)
        try locked.vault.lock()

        let other = locked.other()
        let unlocking = try locked.unlock("old", other)
        #expect(unlocking.isRekeying)
        try other.finishRekeying(unlocking, locked.call)
        #expect(try everythingIsReadable() && locked.load("new") == "new")
        #expect(try !(#require(try locked.other().open())).keys.header.isRekeying)
        try locked.vault.lock()
        #expect(throws: TokenKeepError(.locked, "")) { try locked.load(Self.accounts[3]) }
    }

    @Test func aRemovalThatWasCutShortGoesOn() throws {
        try locked.setPassword()
        try fill()
        let name = "records/" + locked.records[10]
        let good = locked.file(name)
        locked.directory.write(Self.ofLaterVersion(good), to: "vault/" + name)
        #expect(throws: TokenKeepError(.unsupported, "")) {
            try locked.vault.removePassword(SecretBytes("old"), isDestroying: false, locked.call)
        }
        locked.directory.write(good, to: "vault/" + name)
        #expect(try everythingIsReadable())
        let other = locked.other()
        try other.finishRekeying(try locked.unlock("old", other), locked.call)
        let elsewhere = Vault(arena: SecretArena(), path: locked.path, keyringObstacle: "another machine")
        #expect(try everythingIsReadable(from: elsewhere))
    }

    @Test func readersMissNothingMeanwhile() throws {
        try fill()
        let locked = locked
        let failures = Guarded<[String]>([])
        let isOver = Guarded(false)
        let readings = Guarded(0)
        let threads = (0..<2).map { _ in
            TestThread {
                let vault = locked.other()
                while !isOver.withLock({ $0 }) {
                    for account in Self.accounts {
                        do {
                            guard try locked.load(account, from: vault) == account else { throw Stop() }
                            readings.withLock { $0 += 1 }
                        } catch {
                            failures.withLock { $0.append("\(account): \(error)") }
                        }
                    }
                }
            }
        }
        try locked.setPassword()
        _ = try locked.vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true, locked.call)
        try locked.vault.removePassword(SecretBytes("new"), isDestroying: false, locked.call)
        isOver.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        #expect(readings.withLock { $0 } > 100)
    }

    @Test func aWriterThatWaitedSealsUnderTheNewKeys() throws {
        try fill()
        let locked = locked
        let failures = Guarded<[String]>([])
        let isOver = Guarded(false)
        let thread = TestThread {
            var count = 0
            while !isOver.withLock({ $0 }) {
                do {
                    try locked.save("written", "\(count)")
                    guard try locked.load("written") == "\(count)" else { throw Stop() }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
                count += 1
            }
        }
        _ = try locked.other().setPassword(SecretBytes("old"), locked.call)
        isOver.withLock { $0 = true }
        thread.join()
        #expect(failures.withLock { $0 } == [])
        #expect(try everythingIsReadable())
        #expect(try !(#require(try locked.vault.open())).keys.header.isRekeying)
    }
}
