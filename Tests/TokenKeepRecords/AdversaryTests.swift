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

    private func loading(_ account: String, _ store: Store? = nil) -> Status { locked.loading(account, from: store) }

    private func put(_ bytes: [UInt8]) { locked.putHeader(bytes) }

    /// Every file of the vault, as the holder of the disk sees it.
    private func disk() -> [[UInt8]] {
        let eras = locked.directory.names(in: "vault").filter { $0.hasPrefix("era-") }.map { "vault/\($0)" }
        let folders = eras.flatMap { era in [era] + locked.directory.names(in: era).map { "\(era)/\($0)" } }
        return (["vault"] + folders).flatMap { folder in
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
        let changes: [(password: String, change: () throws -> Void)] = [
            ("old", { try locked.setPassword() }),
            ("old", { _ = try locked.store.passwords.createRecoveryCode(password: SecretBytes("old")) }),
            ("new", { try locked.changePassword(isCompromised: true) }),
        ]
        for (password, change) in changes {
            try change()
            let keys = try locked.opened(password).keys
            #expect(Set(keys.map(\.purpose.number)) == [1, 2, 17, 18, 19])
            for file in disk() { #expect(!keys.contains { contains(file, $0.bytes) }) }
            for level in [AccessLevel.whenUnlocked, .afterFirstUnlock] {
                #expect(try locked.strength(.diskTheft, of: level) == .enforced)
            }
        }
        // The search would find the keyfile's.
        let key = try SecretBytes(bytes: Array(locked.file("keyfile")[48..<80]))
        #expect(disk().contains { contains($0, key) })
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
            // A thief who knows the password opens these items: no key of the machine protects them.
            try locked.unlock("old", elsewhere)
            #expect(loading(account, elsewhere) == .ok)
            #expect(try locked.strength(.otherMachine, of: level, elsewhere) == .none)
        }
        try locked.removePassword()
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
        for store in [locked.store, other] { #expect(loading("a", store) == .ok && loading("b", store) == .ok) }
        #expect(KernelKeyring.purge("tokenkeep:\(id):\(number):") == .done)
        for store in [locked.store, other, locked.other()] {
            #expect(loading("a", store) == (number == 2 ? .ok : .locked))
            #expect(loading("b", store) == (number == 1 ? .ok : .locked))
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
        let hidden: [KeyPurpose] = [.presence, .header]
        let places = keys.header.knownSlots.flatMap(\.keys).filter { !hidden.contains($0.purpose) }.map {
            ClassKeyPlace.of($0.id, for: $0.purpose, keys.vaultID)
        }
        #expect(try places.allSatisfy { try KernelKeyring.read($0, atMost: 32) != nil } && places.count == 3)
        for name in names {
            locked.spoil(name)
            if isLost { unlink("\(locked.directory.path)/\(locked.era)/\(name)") }
        }
        #expect {
            try locked.other().lock()
        } throws: { error in
            let error = error as? TokenKeepError
            return error?.status == .corrupt
                && ["from a backup", "put the vault's own files back"].contains { error?.hint?.contains($0) == true }
                && error?.hint?.contains(".corrupt-1") == false
        }
        #expect(try places.allSatisfy { try KernelKeyring.read($0, atMost: 32) == nil })
    }

    /// SECURITY.md: after a restart an older header of the era is not detected. With the password of its time it opens the
    /// keys of its time, which are the present ones until somebody says that the password is known.
    @Test func aHeaderThatIsPutBackBringsItsPasswordBack() throws {
        try locked.setPassword()
        let old = locked.file("header")
        try locked.changePassword()
        try locked.save("a")
        let new = locked.file("header")
        try locked.store.lock()
        put(old)
        // The machine on which it was unlocked notices.
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old") }
        let thief = locked.elsewhere()
        try locked.unlock("old", thief)
        #expect(loading("a", thief) == .ok)
        put(new)
        let keyfile = locked.file("keyfile")
        try locked.changePassword(from: "new", to: "third", isCompromised: true)
        for header in [old, new] {
            for keyfile in [locked.file("keyfile"), keyfile] {
                put(header)
                locked.write(keyfile, to: "keyfile")
                #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old", locked.elsewhere()) }
                #expect(loading("a", locked.elsewhere()) == .corrupt)
            }
        }
    }

    /// SECURITY.md: a record that is put back is not detected, so a cleared item rises again.
    @Test func aRecordThatIsPutBackIsNotDetected() throws {
        try locked.setPassword()
        try locked.save("a")
        let name = "records/" + locked.recordFiles[0]
        let record = locked.file(name)
        #expect(try locked.clear("a") && loading("a") == .notFound)
        locked.write(record, to: name)
        #expect(loading("a") == .ok)
    }

    private static let absurdCosts: [(UInt32, UInt32)] = [
        (17, 65_536), (.max, 8), (0, 65_536), (3, 1_048_577), (3, .max), (3, 7), (3, 0),
    ]

    /// The holder of the keyfile can ask for any costs: MAC A is right. Nobody spends them.
    @Test(arguments: absurdCosts)
    func absurdCostsAreNotSpent(passes: UInt32, memoryKiB: UInt32) throws {
        try locked.save("a")
        try locked.setPassword()
        let code = try locked.store.passwords.createRecoveryCode(password: SecretBytes("old"))
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
                        createdAt: known.createdAt, commitment: known.commitment, keys: known.keys, device: nil))
            }
            let bad = try HeaderMAC.file(
                of: try keys.header.with(slots: slots), nameMAC: keys.headerMAC, headerKey: SecretBytes(randomCount: 32)
            )
            put(bad)
            for store in [locked.store, locked.elsewhere()] {
                #expect(throws: TokenKeepError(.corrupt, "")) { try locked.unlock("old", store) }
                #expect(throws: TokenKeepError(.corrupt, "")) {
                    try store.passwords.recover(code: code, newPassword: SecretBytes("new"))
                }
                #expect(throws: TokenKeepError(.corrupt, "")) {
                    try locked.strength(.diskTheft, of: .afterFirstUnlock, store)
                }
                #expect(loading("a", store) == .corrupt)
            }
            #expect(locked.file("header") == bad)
        }
        put(good)
        #expect(loading("a") == .ok)
    }

    /// A header and keyfile from before the password was set: a report claims no password, and nothing is written.
    @Test(arguments: [true, false]) func theReportIsThatOfTheHeaderThatIsThere(isUnlocked: Bool) throws {
        try locked.save("a")
        let (header, keyfile) = (locked.file("header"), locked.file("keyfile"))
        try locked.setPassword()
        put(header)
        locked.write(keyfile, to: "keyfile")
        let store = isUnlocked ? locked.store : locked.elsewhere()
        #expect(loading("a", store) == .corrupt)
        #expect(VaultModule(store.records).protection(of: .afterFirstUnlock, []) == nil)
        #expect(VaultModule(store.records).report(locked.call).problem?.status == .corrupt)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.save("b", in: store) }
        #expect(locked.recordFiles.count == 1)
    }
}
