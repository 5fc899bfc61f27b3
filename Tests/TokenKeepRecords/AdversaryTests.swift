import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Who does not get at a secret, and that the report says the same.
@Suite struct AdversaryTests {
    private let locked = LockedVault()

    private func loading(_ account: String, _ vault: Vault? = nil) -> Status { locked.loading(account, from: vault) }

    private func put(_ bytes: [UInt8]) {
        for name in ["header", "header.2"] { locked.directory.write(bytes, to: "vault/" + name) }
    }

    /// Everything that lies in the vault, as who has the disk sees it.
    private func disk() throws -> [[UInt8]] {
        let folders = ["vault", "vault/records", "vault/owed", "vault/sent", "vault/used"]
        return folders.flatMap { folder in
            locked.directory.names(in: folder).compactMap { locked.directory.read("\(folder)/\($0)") }
        }
    }

    private func contains(_ file: [UInt8], _ key: SecretBytes) -> Bool {
        let key = key.withUnsafeBytes { Array($0) }
        guard file.count >= key.count else { return false }
        return (0...file.count - key.count).contains { file[$0..<$0 + key.count].elementsEqual(key) }
    }

    @Test func noKeyOfALevelLiesOnTheDisk() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        let changes: [() throws -> Vault.Unlocking] = [
            { try locked.setPassword() },
            {
                _ = try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
                return try locked.unlock()
            },
            {
                try locked.vault.changePassword(
                    from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true, locked.call)
            },
        ]
        for change in changes {
            let keys = try change().entries
            #expect(Set(keys.map(\.purpose.number)) == [1, 2, 17, 18])
            for file in try disk() { #expect(!keys.contains { contains(file, $0.key) }) }
            for level in [AccessLevel.whenUnlocked, .afterFirstUnlock] {
                #expect(try locked.strength(.diskTheft, of: level) == .enforced)
            }
        }
        // What finds them would find the keyfile's.
        let directory = try #require(try locked.records.open()).directory
        let keyfile = try #require(try KeyCache.readKeyfile(of: directory, atMost: 32))
        #expect(try disk().contains { contains($0, keyfile.key) })
    }

    @Test func aCopyOpensElsewhereAsTheReportSays() throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        let levels = [(AccessLevel.whenUnlocked, "a"), (.afterFirstUnlock, "b")]
        for (level, account) in levels {
            #expect(loading(account, locked.elsewhere()) == .ok)
            #expect(try locked.strength(.diskTheft, of: level, locked.elsewhere()) == .none)
            #expect(try locked.strength(.otherMachine, of: level, locked.elsewhere()) == .none)
        }
        try locked.setPassword()
        for (level, account) in levels {
            let elsewhere = locked.elsewhere()
            #expect(loading(account, elsewhere) == .locked)
            #expect(try locked.strength(.diskTheft, of: level, elsewhere) == .enforced)
            #expect(throws: TokenKeepError(.denied, "")) { try locked.unlock("wrong", elsewhere) }
            #expect(loading(account, elsewhere) == .locked)
            // With the password nothing keeps him out: no key of the machine takes part.
            try locked.unlock("old", elsewhere)
            #expect(loading(account, elsewhere) == .ok)
            #expect(try locked.strength(.otherMachine, of: level, elsewhere) == .none)
        }
        try locked.vault.removePassword(SecretBytes("old"), isDestroying: false, locked.call)
        for (level, account) in levels {
            #expect(loading(account, locked.elsewhere()) == .ok)
            #expect(try locked.strength(.diskTheft, of: level) == .none)
            #expect(try locked.strength(.otherUser, of: level) == .enforced)
        }
    }

    /// Each key by itself: what it keeps is locked, and nothing else.
    @Test(arguments: [1, 2, 17]) func aKeyThatWasPurgedLocksItsLevel(number: Int) throws {
        try locked.save("a", level: .whenUnlocked)
        try locked.save("b")
        try locked.setPassword()
        let id = Hexadecimal.text(try #require(try locked.records.open()).keys.vaultID)
        // Who read with it before keeps no copy.
        let other = locked.other()
        for vault in [locked.vault, other] { #expect(loading("a", vault) == .ok && loading("b", vault) == .ok) }
        #expect(KernelKeyring.purge("tokenkeep:\(id):\(number):") == .done)
        for vault in [locked.vault, other, locked.other()] {
            #expect(loading("a", vault) == (number == 2 ? .ok : .locked))
            #expect(loading("b", vault) == (number == 1 ? .ok : .locked))
        }
        #expect(try locked.strength(.diskTheft) == .enforced)
        #expect(try locked.strength(.screenLock, of: .whenUnlocked) == .advisory)
        try locked.unlock()
        #expect(loading("a") == .ok && loading("b") == .ok)
    }

    /// Who damages files of an unlocked vault does not keep its user from locking it.
    @Test(arguments: [["keyfile"], ["header", "header.2"], ["keyfile", "header"]], [false, true])
    func aDamagedVaultCanBeLocked(names: [String], isLost: Bool) throws {
        try locked.save("a")
        try locked.setPassword()
        let keys = try #require(try locked.records.open()).keys
        let places = keys.header.knownSlots.flatMap(\.keys).filter { $0.purpose != .presence }.map {
            ClassKeyStore.place(of: $0.id, for: $0.purpose, keys.vaultID)
        }
        #expect(try places.allSatisfy { try KernelKeyring.read($0, atMost: 32) != nil } && places.count == 3)
        for name in names {
            var bytes = locked.file(name)
            bytes[bytes.count - 1] ^= 1
            locked.directory.write(bytes, to: "vault/" + name)
            if isLost { unlink("\(locked.path)/\(name)") }
        }
        #expect {
            try locked.other().lock()
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .corrupt && error?.hint?.contains("from a backup") == true
                && error?.hint?.contains(".corrupt-1") == false
        }
        #expect(try places.allSatisfy { try KernelKeyring.read($0, atMost: 32) == nil })
    }

    /// SECURITY.md: an older copy is not detected. With the password of its time it opens the keys of its time.
    @Test func aHeaderThatIsPutBackBringsItsPasswordBack() throws {
        try locked.setPassword()
        let old = locked.file("header")
        _ = try locked.vault.changePassword(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: false, locked.call)
        try locked.save("a")
        let new = locked.file("header")
        try locked.store.lock()
        put(old)
        let thief = locked.elsewhere()
        try locked.unlock("old", thief)
        #expect(loading("a", thief) == .ok)
        put(new)
        // Whoever fears that says so: then it opens nothing.
        _ = try locked.vault.changePassword(
            from: SecretBytes("new"), to: SecretBytes("third"), isCompromised: true, locked.call)
        for (header, password) in [(old, "old"), (new, "new")] {
            put(header)
            let thief = locked.elsewhere()
            try locked.unlock(password, thief)
            #expect(loading("a", thief) == .corrupt)
        }
    }

    /// SECURITY.md: a record that is put back is not detected, so a cleared item rises again.
    @Test func aRecordThatIsPutBackIsNotDetected() throws {
        try locked.setPassword()
        try locked.save("a")
        let name = "vault/records/" + locked.records[0]
        let record = try #require(locked.directory.read(name))
        #expect(try locked.clear("a") && loading("a") == .notFound)
        locked.directory.write(record, to: name)
        #expect(loading("a") == .ok)
    }

    private static let absurdCosts: [(UInt32, UInt32)] = [
        (17, 65_536), (.max, 8), (0, 65_536), (3, 1_048_577), (3, .max), (3, 7), (3, 0),
    ]

    /// Who has the keyfile can ask for any costs: the MAC is right. Nobody spends them.
    @Test(arguments: absurdCosts)
    func absurdCostsAreNotSpent(passes: UInt32, memoryKiB: UInt32) throws {
        try locked.save("a")
        try locked.setPassword()
        let code = try locked.vault.createRecoveryCode(password: SecretBytes("old"), locked.call)
        let keys = try #require(try locked.records.open()).keys
        let good = locked.file("header")
        for type in [KnownSlot.SlotType.password, .recovery] {
            let slots = keys.header.slots.map { slot -> Slot in
                guard case .known(let known) = slot, known.type == type else { return slot }
                let salt = [UInt8](repeating: 1, count: 16)
                return .known(
                    KnownSlot(
                        type: type, id: known.id,
                        derivation: .argon2id(passes: passes, memoryKiB: memoryKiB, salt: salt),
                        createdAt: known.createdAt, keys: known.keys, extension: []))
            }
            let bad = keys.file(of: keys.header.with(slots: slots))
            put(bad)
            for vault in [locked.vault, locked.elsewhere()] {
                #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old", vault) }
                #expect(throws: TokenKeepError(.corrupt, "")) {
                    try vault.recover(code: code, newPassword: SecretBytes("new"), locked.call)
                }
                #expect(throws: TokenKeepError(.corrupt, "")) {
                    try locked.strength(.diskTheft, of: .afterFirstUnlock, vault)
                }
                #expect(loading("a", vault) == .corrupt)
            }
            #expect(locked.file("header") == bad)
        }
        put(good)
        #expect(loading("a") == .ok)
    }

    /// A header before the password was set: what is saved then is under the keyfile, and the report says so.
    @Test func theReportIsThatOfTheHeaderThatIsThere() throws {
        try locked.save("a")
        let header = locked.file("header")
        try locked.setPassword()
        put(header)
        #expect(loading("a") == .corrupt)
        #expect(try locked.strength(.diskTheft) == .none)
        #expect(throws: TokenKeepError(.policy, "")) { try locked.save("b", flags: .requireEnforced) }
        try locked.save("b")
        #expect(loading("b", locked.elsewhere()) == .ok)
    }
}
