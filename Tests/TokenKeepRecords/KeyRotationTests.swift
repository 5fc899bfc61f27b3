import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Keys are replaced while others read and write, and beside what no key opens.
@Suite struct KeyRotationTests {
    private let locked = LockedVault()
    private static let accounts = (0..<20).map { "account \($0)" }

    private func fill(_ levels: [AccessLevel] = [.whenUnlocked, .afterFirstUnlock]) throws {
        for (index, account) in Self.accounts.enumerated() {
            try locked.save(account, account, level: levels[index % levels.count])
        }
    }

    private func everythingIsReadable(from store: Store? = nil) throws -> Bool {
        let store = store ?? locked.other()
        return try Self.accounts.allSatisfy { try locked.load($0, from: store) == $0 }
    }

    // MARK: Meanwhile

    private struct Lost: Error, CustomStringConvertible { let description: String }

    /// Runs `body` again and again in a thread of its own, until `isOver`.
    private func repeating(
        _ isOver: MutexGuarded<Bool>, _ failures: MutexGuarded<[String]>, _ count: MutexGuarded<Int>,
        _ body: @escaping @Sendable (Int) throws -> Void
    ) -> TestThread {
        TestThread {
            var round = 0
            while !isOver.withLock({ $0 }) {
                do {
                    try body(round)
                    count.withLock { $0 += 1 }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
                round += 1
            }
        }
    }

    /// Three changes of keys, under readers with kept and with new descriptors, writers, removers and listers.
    @Test func nobodyMissesAnythingMeanwhile() throws {
        // The kernel ends the key of the other level in 180 seconds, less than four changes may take.
        try fill([.afterFirstUnlock])
        let locked = locked
        let (isOver, failures) = (MutexGuarded(false), MutexGuarded<[String]>([]))
        let counts = (0..<5).map { _ in MutexGuarded(0) }
        let (kept, writer, remover) = (locked.other(), locked.other(), locked.other())
        let last = MutexGuarded("")
        let threads = [
            repeating(isOver, failures, counts[0]) { round in
                let account = Self.accounts[round % Self.accounts.count]
                guard try locked.load(account, from: kept) == account else { throw Lost(description: account) }
            },
            repeating(isOver, failures, counts[1]) { round in
                let account = Self.accounts[round % Self.accounts.count]
                guard try locked.load(account) == account else { throw Lost(description: account) }
                let absent = Result { try locked.load("never saved", from: locked.other()) }
                guard case .failure(let error as TokenKeepError) = absent, error.status == .notFound else {
                    throw Lost(description: "what was never saved: \(absent)")
                }
            },
            repeating(isOver, failures, counts[2]) { round in
                try locked.save("written", "\(round)", in: writer)
                last.withLock { $0 = "\(round)" }
                guard try locked.load("written") == "\(round)" else { throw Lost(description: "round \(round)") }
            },
            repeating(isOver, failures, counts[3]) { round in
                try locked.save("removed", in: remover)
                let name = try ItemName(service: "s", account: "removed")
                guard try VaultModule(remover.records).clear(name, ifVersion: nil, locked.call) else {
                    throw Lost(description: "what is to be removed")
                }
                guard locked.loading("removed") == .notFound else { throw Lost(description: "the removal") }
            },
            repeating(isOver, failures, counts[4]) { _ in
                let listing = try locked.list()
                if let problem = listing.problem { throw problem }
                let missing = Set(Self.accounts).subtracting(listing.items.map(\.name.account))
                guard missing.isEmpty else { throw Lost(description: "of a list: \(missing)") }
            },
        ]
        let changer = locked.other()
        try locked.setPassword("old", changer)
        try locked.changePassword(isCompromised: true, changer)
        try locked.changePassword(from: "new", to: "third", changer)
        try locked.removePassword("third", changer)
        isOver.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(failures.withLock { Set($0) } == [])
        #expect(counts.allSatisfy { $0.withLock { $0 } > 3 }, "\(counts.map { $0.withLock { $0 } })")
        #expect(locked.era == "vault/era-4")
        #expect(try everythingIsReadable() && locked.load("written") == last.withLock { $0 })
        #expect(locked.loading("removed") == .notFound)
        // An item that was saved while the keys were replaced is under the new ones.
        #expect(
            try locked.recordFiles.count == Self.accounts.count + 1
                && locked.load("written", from: locked.elsewhere()) != nil)
    }

    /// A reader that opened the era before it was replaced finds its files gone, and looks again.
    @Test func anAbsenceCountsOnlyInTheEraInForce() throws {
        try locked.save("a")
        let reader = locked.other()
        for count in 1...3 {
            #expect(locked.loading("a", from: reader) == .ok && locked.loading("b", from: reader) == .notFound)
            #expect(try locked.list(reader).items.count == 1)
            if count == 1 {
                try locked.setPassword()
            } else {
                try locked.changePassword(to: "old", isCompromised: true)
            }
            #expect(locked.loading("a", from: reader) == .ok && locked.loading("b", from: reader) == .notFound)
            #expect(locked.directory.names(in: "vault").filter { $0.hasPrefix("era-") } == ["era-\(count + 1)"])
        }
    }

    // MARK: What no key opens

    /// The boxes of a record that are spoilt, and what becomes of its item.
    private enum Damage: CaseIterable {
        case state, metadata, secret, cutShort, rubbish

        /// Whether the item's names can be read: then it stays damaged, under its new file name.
        var leavesNames: Bool { self == .state || self == .secret }

        func spoil(_ good: [UInt8]) -> [UInt8] {
            var bad = good
            let length = { (offset: Int) in Int(good[offset]) | Int(good[offset + 1]) << 8 }
            switch self {
            case .state: bad[100] ^= 1
            case .metadata: bad[96 + length(80) + 30] ^= 1
            case .secret: bad[bad.count - 1] ^= 1
            case .cutShort: bad.removeLast(10)
            case .rubbish: bad = [1, 2, 3]
            }
            return bad
        }
    }

    @Test(arguments: Damage.allCases) private func whatNoKeyOpensIsCarriedOver(damage: Damage) throws {
        try fill()
        try locked.save("damaged")
        let file = try locked.recordFile(of: "damaged")
        let bad = damage.spoil(locked.file("records/" + file))
        let aside = Array("what was set aside".utf8)
        for number in [1, 2] { locked.write(aside + [UInt8(number)], to: "records/\(file).corrupt-\(number)") }
        locked.write(bad, to: "records/" + file)
        let expected: Status = damage.leavesNames ? .corrupt : .notFound
        #expect(try locked.setPassword().unreadable == 1)
        try check(expected, [bad, aside + [1], aside + [2]])
        // A later change of keys opens the records that an earlier change carried over, and seals these records anew.
        try locked.changePassword(isCompromised: true)
        try check(expected, [bad, aside + [1], aside + [2]])
        try locked.removePassword("new")
        try check(expected, [bad, aside + [1], aside + [2]])
        #expect(try everythingIsReadable(from: locked.elsewhere()))
        // The item can be saved anew, and what was damaged is kept.
        try locked.save("damaged")
        #expect(locked.loading("damaged") == .ok)
        try check(.ok, [bad, aside + [1], aside + [2]])
    }

    /// - Parameter carried: what lies in the era, sealed.
    private func check(_ status: Status, _ carried: [[UInt8]]) throws {
        #expect(locked.loading("damaged") == status && locked.loading("damaged", from: locked.other()) == status)
        #expect(try everythingIsReadable())
        let listing = try locked.list()
        #expect(listing.items.count == Self.accounts.count + (status == .ok ? 1 : 0))
        #expect(listing.problem?.status == (status == .corrupt ? .corrupt : nil))
        let keys = try #require(try locked.records.open()).keys
        var found: [[UInt8]] = []
        for file in locked.directory.names(in: locked.era + "/records") {
            let bytes = locked.file("records/" + file)
            #expect(!carried.contains { $0.count > 3 && bytes.contains(bytes: $0) }, "\(file) is not sealed")
            let name = Hexadecimal.bytes(String(file.prefix(32)), count: 16)
            let opened = CarriedFile(bytes, of: nil, fileName: name, keys: keys)
            guard opened.bytes != bytes else { continue }
            found.append(opened.bytes)
            #expect(file.utf8.count > 32 || opened.name?.account == "damaged")
        }
        #expect(Set(found) == Set(carried) && found.count == carried.count)
    }

    @Test func aFileThatIsNoRecordAndTooLongEndsTheChange() throws {
        try fill()
        let name = String(repeating: "a", count: 32)
        locked.write([UInt8](repeating: 7, count: CarriedFile.maximumLength + 1), to: "records/" + name)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.setPassword() }
        #expect(locked.era == "vault/era-1")
        #expect(try everythingIsReadable())
        let longest = [UInt8](repeating: 7, count: CarriedFile.maximumLength)
        locked.write(longest, to: "records/" + name)
        #expect(try locked.setPassword().unreadable == 1)
        #expect(try locked.changePassword(isCompromised: true).unreadable == 0)
        let kept = try #require(locked.directory.names(in: locked.era + "/records").first { $0.contains("corrupt-") })
        let keys = try #require(try locked.records.open()).keys
        let opened = CarriedFile(
            locked.file("records/" + kept), of: nil, fileName: Hexadecimal.bytes(name, count: 16), keys: keys)
        #expect(opened.bytes == longest)
    }

    @Test func anItemWhosePresenceKeyIsLostStaysDamaged() throws {
        try locked.setPassword()
        try locked.save("kept", "kept")
        try locked.save("lost", flags: .userPresence, presence: locked.presence())
        let code = try locked.store.passwords.createRecoveryCode(password: SecretBytes("old"))
        _ = try locked.store.passwords.recover(code: code, newPassword: SecretBytes("new"))
        #expect(try locked.changePassword(from: "new", to: "newer", isCompromised: true).unreadable == 1)
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load("lost") }
        try locked.removePassword("newer")
        #expect(throws: TokenKeepError(.corrupt, "")) { try locked.load("lost") }
        #expect(try locked.clear("lost"))
        #expect(throws: TokenKeepError(.notFound, "")) { try locked.load("lost") }
        #expect(try locked.load("kept") == "kept")
    }

    // MARK: Companions

    @Test func whatStandsBesideTheRecordsIsCarriedOver() throws {
        let name = try ItemName(service: "s", account: "a")
        let fingerprint = [UInt8](repeating: 5, count: 16)
        let removal = PendingWrite(
            module: "m", machine: [UInt8](repeating: 1, count: 16), kind: .remove, since: UnixTime(1), base: fingerprint
        )
        do {
            var item = try locked.records.begin(name, locked.call)
            try item.apply(.cleared(pending: [removal]))
            item.noteSending(fingerprint, to: "m")
            let details = ItemDetails(name: name, label: "", accessLevel: .afterFirstUnlock, module: "m")
            _ = try item.sealer.seal(SecretBytes("sealed"), of: details, for: "m", locked.call)
        }
        try locked.records.journal.markUsed("m", locked.call)
        let copies = try SealedRecords(#require(try locked.records.open())).copies(of: name)
        let files = ["pending", "records"].map { locked.directory.names(in: "\(locked.era)/\($0)") }
        // The stack has no module m, which must get the item anew.
        #expect(throws: TokenKeepError(.unavailable, "")) { try locked.setPassword() }
        #expect(try locked.records.journal.hasUsed("m"))
        #expect(try locked.records.journal.pendingRecords().record(of: name)?.pending == [removal])
        #expect(try locked.records.begin(name, locked.call).holder("m").sent == [fingerprint])
        let after = try #require(try locked.records.open())
        #expect(try SealedRecords(after).copies(of: name) == copies)
        // The key that sealed it elsewhere stays until it is sealed anew.
        let retiring = after.keys.header.knownSlots.flatMap(\.keys).filter(\.isRetiring)
        #expect(retiring.map(\.id) == copies?.holders.flatMap(\.keyIDs))
        #expect(["pending", "records"].map { locked.directory.names(in: "\(locked.era)/\($0)") } != files)
    }

    /// Password set, known to others, removed, set again: what a module holds sealed stays readable until it is sealed anew.
    @Test func whatAnUnavailableModuleHoldsSealedStaysReadable() throws {
        try locked.setPassword()
        let details = ItemDetails(
            name: try ItemName(service: "s", account: "a"), label: "", accessLevel: .afterFirstUnlock, module: "m")
        let sealed = try seal("sealed", details)
        let changes: [() throws -> Void] = [
            { try locked.changePassword(isCompromised: true) }, { try locked.removePassword("new") },
            { try locked.setPassword() }, { try locked.removePassword() }, { try locked.setPassword() },
        ]
        for (index, change) in changes.enumerated() {
            #expect(throws: TokenKeepError(.unavailable, "")) { try change() }
            let opened = try VaultSealer(locked.records).open(sealed, of: details, locked.call)
            #expect(opened.utf8String == "sealed", "\(index)")
            #expect(try #require(try locked.records.open()).keys.header.era == UInt64(index) + 3)
        }
        try locked.store.lock()
        #expect(throws: TokenKeepError(.locked, "")) {
            try VaultSealer(locked.records).open(sealed, of: details, locked.call)
        }
        // Once no module holds it, an unlock drops the key.
        try locked.unlock()
        try locked.records.begin(details.name, locked.call).forgetSealed(in: "m", onEveryMachine: true)
        try locked.unlock()
        #expect(try !#require(try locked.records.open()).keys.header.hasRetiringKeys)
        #expect(throws: TokenKeepError(.corrupt, "")) {
            try VaultSealer(locked.records).open(sealed, of: details, locked.call)
        }
    }

    private func seal(_ secret: String, _ details: ItemDetails) throws -> SecretBytes {
        let item = try locked.records.begin(details.name, locked.call)
        return try item.sealer.seal(SecretBytes(secret), of: details, for: details.module, locked.call)
    }

    @Test func aSlotOfAnUnknownTypeEndsOnlyByTheUsersWord() throws {
        try fill()
        let vault = try #require(try locked.records.open())
        let header = vault.keys.header
        let foreign = try header.with(slots: header.slots + [.other(type: 77, bytes: [1, 2, 3])])
        locked.putHeader(
            try HeaderMAC.file(
                of: foreign, nameMAC: vault.keys.headerMAC, headerKey: vault.keys.currentKey(for: .header).bytes))
        #expect(throws: TokenKeepError(.policy, "")) { try locked.setPassword() }
        let text = "the vault has slots of types that this version does not know (77): new keys end them"
        #expect(errorText { try locked.setPassword() }.hasPrefix(text + "; "))
        #expect(locked.era == "vault/era-1")
        _ = try locked.store.passwords.set(SecretBytes("old"), isDroppingUnknownSlots: true)
        #expect(try #require(try locked.records.open()).keys.header.unknownTypes.isEmpty)
        #expect(try everythingIsReadable())
    }
}

extension [UInt8] {
    /// Whether these bytes stand in it, one behind the other.
    func contains(bytes: [UInt8]) -> Bool {
        guard count >= bytes.count else { return false }
        return (0...count - bytes.count).contains {
            self[$0] == bytes[0] && self[$0..<$0 + bytes.count].elementsEqual(bytes)
        }
    }
}
