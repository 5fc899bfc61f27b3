import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// An attacker with every file, the keyfile among them: he makes MAC A, states and names, and never has the password.
private struct Forger {
    let keyfile: Keyfile
    /// The keys that the keyfile opens.
    let keys: KeyRing
    let headerKey: OpenKey

    init(_ world: LockedVault) throws {
        keyfile = try world.file("keyfile").lent { bytes throws(FormatFault) in try Keyfile.parse(bytes) }
        keys = try KeyRing.open(
            headerFile: world.file("header"), keyfile: keyfile, era: keyfile.era,
            residentKeys: ClassKeyStore(obstacle: "another machine"))
        headerKey = try OpenKey.make(.header)
    }

    var passwordSlot: KnownSlot { get throws { try #require(keys.header.slot(.password)) } }

    /// A keyfile slot with keys of his own.
    ///
    /// - Parameter withTheirIDs: whether they have the ids of the vault's keys, which everybody can read.
    func keyfileSlot(withTheirIDs: Bool = false, retiring: [OpenKey] = []) throws -> Slot {
        let own = try EraKeys.purposes(withPassword: false).map { purpose -> OpenKey in
            let key = purpose == .header ? headerKey : try OpenKey.make(purpose)
            guard withTheirIDs, let id = keys.currentKeyID(for: purpose) else { return key }
            return OpenKey(purpose: purpose, isRetiring: false, id: id, bytes: key.bytes)
        }
        return .known(
            .wrapping(
                own + retiring, type: .keyfile, derivation: .subkey, with: try keyfile.derived(), vaultID: keys.vaultID,
                era: keys.era))
    }

    /// A header with these slots: MAC A is right, MAC B is under a key of his own.
    ///
    /// - Parameter nameKey: a name key of his own; nil for the vault's.
    func header(_ slots: [Slot], epoch: UInt64? = nil, nameKey: OpenKey? = nil) throws -> [UInt8] {
        let present = keys.header
        let outside = WrappedKey.Place(vaultID: present.vaultID, era: present.era, slotType: .keyfile, slotID: 0)
        let wrapped = try nameKey.map { WrappedKey.wrapping($0, at: outside, with: try keyfile.derived().wrapping) }
        let nameMAC = try nameKey.map { try Subkey.ofNameKey($0.bytes, for: .headerMAC) } ?? keys.headerMAC
        let header = Header(
            vaultID: present.vaultID, era: present.era, epoch: epoch ?? present.epoch + 1, createdAt: present.createdAt,
            nameKey: wrapped ?? present.nameKey, journalKey: present.journalKey, slots: slots)
        return try HeaderMAC.file(of: header, nameMAC: nameMAC, headerKey: headerKey.bytes)
    }

    /// The password's slot with other parts.
    func changed(derivation: KeyDerivation? = nil, adding: [WrappedKey] = []) throws -> Slot {
        let slot = try passwordSlot
        return .known(
            KnownSlot(
                type: slot.type, id: slot.id, derivation: derivation ?? slot.derivation, createdAt: slot.createdAt,
                commitment: slot.commitment, keys: slot.keys + adding, device: nil))
    }

    /// A retiring key of his own, wrapped under anything: he does not have the slot's key-encryption key.
    func retiringKey() throws -> WrappedKey {
        let place = WrappedKey.Place(
            vaultID: keys.vaultID, era: keys.era, slotType: .password, slotID: try passwordSlot.id)
        return WrappedKey.wrapping(
            try OpenKey.make(.level(.afterFirstUnlock)).retiring, at: place, with: try SecretBytes(randomCount: 32))
    }

    /// A record of an item under class and metadata keys of his own, whose state is right.
    func record(of name: ItemName, metadataKeyID: UInt64? = nil) throws -> [UInt8] {
        let ids = [KeyPurpose.level(.afterFirstUnlock), .metadata].map { keys.currentKeyID(for: $0) }
        var forged = keys
        var own = [try OpenKey.make(.level(.afterFirstUnlock)), try OpenKey.make(.metadata)]
        if let metadataKeyID {
            own[1] = OpenKey(purpose: .metadata, isRetiring: false, id: metadataKeyID, bytes: own[1].bytes)
        }
        forged = forged.adding(own)
        #expect(!ids.contains(nil))
        let details = ItemDetails(
            name: name, label: "", accessLevel: .afterFirstUnlock, createdAt: .now, modifiedAt: .now, version: 1,
            module: "vault")
        return try RecordWriter.value(
            MetadataFields(details: details), secret: SecretBytes("his"),
            state: StateFields(changedAt: .now),
            keys: forged, presence: nil)
    }
}

/// Nobody adds or alters a slot, a key, a cost or the epoch without the password.
@Suite struct RootOfTrustTests {
    private let world = LockedVault()

    private func prepare() throws {
        try world.save("a")
        try world.setPassword()
        try world.save("b")
    }

    /// How the vault is met: unlocked, locked on the machine that unlocked it, or on a machine that never did.
    private enum Machine: CaseIterable { case unlocked, locked, another }

    private func store(_ machine: Machine) throws -> Store {
        if machine == .locked { try world.store.lock() }
        return machine == .another ? world.elsewhere() : world.store
    }

    /// The status of every operation, by its name.
    private func statuses(_ store: Store, password: String = "old") -> [String: Status] {
        let module = VaultModule(store.records)
        var statuses: [String: Status] = [:]
        statuses["load"] = world.loading("a", from: store)
        statuses["absent"] = world.loading("absent", from: store)
        statuses["save"] = LockedVault.status { try world.save("c", in: store) }
        statuses["clear"] = LockedVault.status {
            _ = try module.clear(ItemName(service: "s", account: "b"), ifVersion: nil, world.call)
        }
        statuses["list"] = LockedVault.status {
            if let problem = try world.list(store).problem { throw problem }
        }
        statuses["report"] = module.report(world.call).problem?.status ?? .ok
        statuses["unlock"] = LockedVault.status { try world.unlock(password, store) }
        statuses["change"] = LockedVault.status { try world.changePassword(from: password, store) }
        statuses["code"] = LockedVault.status {
            _ = try store.passwords.createRecoveryCode(password: SecretBytes(password))
        }
        statuses["remove"] = LockedVault.status { try world.removePassword(password, store) }
        return statuses
    }

    private var files: [[UInt8]] {
        [world.era, world.era + "/records"].flatMap { folder in
            world.directory.names(in: folder).compactMap { world.directory.read("\(folder)/\($0)") }
        }
    }

    /// Everything is refused, nothing is written, and the right file heals it.
    private func expectRefused(_ forged: [UInt8], on machine: Machine, password: String = "old") throws {
        let right = world.file("header")
        let store = try store(machine)
        world.putHeader(forged)
        let before = files
        #expect(Set(statuses(store).values) == [.corrupt], "\(machine): \(statuses(store))")
        #expect(files == before)
        #expect(VaultModule(store.records).protection(of: .afterFirstUnlock, [])?[.diskTheft].strength != .enforced)
        world.putHeader(right)
        if machine != .unlocked { try world.unlock(password, store) }
        #expect(world.loading("a", from: store) == .ok && world.loading("b", from: store) == .ok)
    }

    @Test(arguments: Machine.allCases) private func aPlantedKeyfileSlotIsRefused(machine: Machine) throws {
        try prepare()
        let forger = try Forger(world)
        try expectRefused(forger.header([.known(forger.passwordSlot), forger.keyfileSlot()]), on: machine)
    }

    /// The slots keep the rules; only MAC B tells.
    @Test func aPlantedRetiringKeyIsRefused() throws {
        try prepare()
        let forger = try Forger(world)
        let forged = try forger.header([forger.changed(adding: [forger.retiringKey()])])
        try expectRefused(forged, on: .unlocked)
        try expectRefused(forged, on: .locked)
        // A machine that never unlocked it serves nothing of it before the password is typed, and nothing then.
        world.putHeader(forged)
        let another = world.elsewhere()
        #expect(world.loading("a", from: another) == .locked)
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.unlock("old", another) }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.changePassword(another) }
        #expect(world.loading("a", from: another) == .locked)
        #expect(world.file("header") == forged)
    }

    @Test func aRaisedEpochIsRefused() throws {
        try prepare()
        let forger = try Forger(world)
        let forged = try forger.header([.known(forger.passwordSlot)], epoch: 1 << 60)
        try expectRefused(forged, on: .unlocked)
        try expectRefused(forged, on: .locked)
        world.putHeader(forged)
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.unlock("old", world.elsewhere()) }
    }

    /// With lower costs a thief would guess quicker: the slot no longer opens, and no header is written from it.
    @Test func loweredCostsAreRefused() throws {
        try prepare()
        let forger = try Forger(world)
        guard case .argon2id(_, _, let salt) = try forger.passwordSlot.derivation else {
            throw PasswordSlots.noPassword
        }
        let forged = try forger.header([forger.changed(derivation: .argon2id(passes: 1, memoryKiB: 8, salt: salt))])
        try expectRefused(forged, on: .unlocked)
        try expectRefused(forged, on: .locked)
        world.putHeader(forged)
        #expect(throws: TokenKeepError(.denied, "")) { try world.unlock("old", world.elsewhere()) }
    }

    // MARK: Older headers

    @Test(arguments: [Machine.unlocked, .locked]) private func anOlderHeaderIsRefused(machine: Machine) throws {
        try prepare()
        let older = world.file("header")
        try world.changePassword(from: "old", to: "other")
        try world.changePassword(from: "other", to: "old")
        try expectRefused(older, on: machine)
        // The second copy is no way in either.
        let right = world.file("header")
        world.write(older, to: "header.2")
        unlink("\(world.directory.path)/\(world.era)/header")
        #expect(world.loading("a") == .corrupt)
        world.putHeader(right)
        try world.unlock()
        #expect(world.loading("a") == .ok)
    }

    @Test(arguments: Machine.allCases) private func aHeaderOfAnotherEraIsRefused(machine: Machine) throws {
        try prepare()
        let (older, keyfile) = (world.file("header"), world.file("keyfile"))
        try world.changePassword(to: "old", isCompromised: true)
        try expectRefused(older, on: machine)
        // Nor with its keyfile.
        let (right, header, store) = (world.file("keyfile"), world.file("header"), try store(machine))
        world.write(keyfile, to: "keyfile")
        world.putHeader(older)
        #expect(world.loading("a", from: store) == .corrupt)
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.unlock("old", store) }
        // A lock says so too, after it has removed the keys.
        if machine == .unlocked {
            let vaultID = Hexadecimal.text(try #require(try world.records.opener.vaultID()))
            #expect(throws: TokenKeepError(.corrupt, "")) { try store.lock() }
            let kept = KernelKeyring.descriptions(beginningWith: "tokenkeep:\(vaultID):")
            #expect(Set(kept) == ["tokenkeep:\(vaultID):trust", "tokenkeep:\(vaultID):locked"])
        }
        world.write(right, to: "keyfile")
        world.putHeader(header)
        try world.unlock("old", store)
        #expect(world.loading("a", from: store) == .ok)
    }

    /// A whole era that is put back, with `current`: noticed where the vault was unlocked.
    @Test(arguments: [Machine.unlocked, .locked]) private func anOlderEraIsRefused(machine: Machine) throws {
        try prepare()
        let copy = world.directory.path + "/copy"
        try copyEra(to: copy)
        try world.changePassword(isCompromised: true)
        let store = try store(machine)
        rename(copy, world.path + "/era-2")
        unlink(world.path + "/current")
        symlink("era-2", world.path + "/current")
        let found = statuses(store)
        #expect(Set(found.values) == [.corrupt], "\(found)")
        unlink(world.path + "/current")
        symlink("era-3", world.path + "/current")
        try world.unlock("new", store)
        #expect(world.loading("a", from: store) == .ok)
        #expect(!world.directory.names(in: "vault").contains("era-2"))
    }

    private func copyEra(to path: String) throws {
        mkdir(path, 0o700)
        mkdir(path + "/records", 0o700)
        for name in ["keyfile", "header", "header.2"] + world.recordFiles.map({ "records/" + $0 }) {
            world.directory.write(
                world.file(name), to: String(path.dropFirst(world.directory.path.count + 1)) + "/" + name)
        }
    }

    /// A reader may have read the header just before it was replaced, and what is trusted just after.
    @Test func aHeaderThatIsReplacedMeanwhileIsTaken() throws {
        try prepare()
        let world = world
        let (isOver, statuses) = (MutexGuarded(false), MutexGuarded<Set<Status>>([]))
        let threads = (0..<2).map { _ in
            TestThread {
                while !isOver.withLock({ $0 }) {
                    let status = world.loading("a", from: world.other())
                    statuses.withLock { _ = $0.insert(status) }
                }
            }
        }
        let unlocked = try world.opened()
        let (writer, slots) = (HeaderWriter(world.records.opener), unlocked.vault.keys.header.slots)
        var vault = unlocked.vault
        for round in 0..<400 {
            vault = try writer.replace(
                of: vault, slots: slots + (round % 2 == 0 ? [.other(type: 9, bytes: [1])] : []),
                headerKey: unlocked.headerKey(), keeping: unlocked.keys, world.call)
        }
        isOver.withLock { $0 = true }
        for thread in threads { thread.join() }
        #expect(statuses.withLock { $0 } == [.ok])
    }

    // MARK: Records testify

    /// Both MACs are right: only the records, or the kernel, tell that the header is not theirs.
    @Test(arguments: Machine.allCases, [false, true])
    private func aHeaderOfAKeyfileAloneIsRefused(machine: Machine, withTheirIDs: Bool) throws {
        try prepare()
        let forger = try Forger(world)
        try expectRefused(forger.header([forger.keyfileSlot(withTheirIDs: withTheirIDs)]), on: machine)
    }

    @Test func aRecordUnderForeignKeysRefusesTheHeader() throws {
        try world.save("a")
        try world.setPassword()
        let forger = try Forger(world)
        let file = "records/" + (try world.recordFile(of: "his"))
        let forged = try [nil, forger.keys.currentKeyID(for: .metadata)].map {
            try forger.record(of: ItemName(service: "s", account: "his"), metadataKeyID: $0)
        }
        for record in forged {
            world.write(record, to: file)
            let store = world.elsewhere()
            #expect(LockedVault.status { try world.save("c", in: store) } == .corrupt)
            #expect(VaultModule(store.records).report(world.call).problem?.status == .corrupt)
            #expect(world.loading("a", from: store) == .locked)
            #expect(throws: TokenKeepError(.corrupt, "")) { try world.unlock("old", store) }
            // What is unlocked and has testified goes on.
            #expect(world.loading("a") == .ok)
            unlink("\(world.directory.path)/\(world.era)/\(file)")
        }
        #expect(world.loading("a") == .ok && world.loading("his") == .notFound)
    }

    /// Whoever has the keyfile makes as many tombstones as he likes, and they prove nothing.
    @Test(arguments: [false, true]) func forgedTombstonesBlindNoTestimony(ownNameKey: Bool) throws {
        for account in ["a", "b", "c"] { try world.save(account) }
        try world.setPassword()
        let forger = try Forger(world)
        let right = world.file("header")
        let forged = try forger.header([forger.keyfileSlot()], nameKey: ownNameKey ? OpenKey.make(.name) : nil)
        let keys = try KeyRing.open(
            headerFile: forged, keyfile: forger.keyfile, era: forger.keyfile.era,
            residentKeys: ClassKeyStore(obstacle: "another machine"))
        for number in 0..<2100 {
            let name = try ItemName(service: "s", account: "cleared \(number)")
            let fileName = keys.fileName(of: name)
            let tombstone = try RecordWriter.tombstone(
                name: fileName, state: StateFields(changedAt: .now, name: name), keys: keys)
            world.write(tombstone, to: "records/" + Hexadecimal.text(fileName))
        }
        world.putHeader(forged)
        let store = world.elsewhere()
        #expect(LockedVault.status { try world.save("d", in: store) } == .corrupt)
        #expect(world.loading("absent", from: store) == .corrupt)
        world.putHeader(right)
        #expect(world.loading("a") == .ok)
    }

    /// Damage proves nothing: of several records one is whole, or there is one alone.
    @Test func damagedRecordsRefuseNothing() throws {
        try world.save("a")
        let first = world.recordFiles[0]
        var bad = world.file("records/" + first)
        bad[100] ^= 1
        let good = world.file("records/" + first)
        world.write(bad, to: "records/" + first)
        #expect(world.loading("a", from: world.elsewhere()) == .corrupt)
        #expect(world.loading("b", from: world.elsewhere()) == .notFound)
        try world.save("b", in: world.elsewhere())
        #expect(world.loading("b", from: world.elsewhere()) == .ok)
        let second = "records/" + (try world.recordFile(of: "b"))
        var other = world.file(second)
        other[100] ^= 1
        world.write(other, to: second)
        // Two are damaged records; three, and none opens: the name key is another one.
        #expect(world.loading("c", from: world.elsewhere()) == .notFound)
        try world.save("d", in: world.elsewhere())
        let third = "records/" + (try world.recordFile(of: "d"))
        var last = world.file(third)
        last[100] ^= 1
        world.write(last, to: third)
        #expect(world.loading("c", from: world.elsewhere()) == .corrupt)
        world.write(good, to: "records/" + first)
        other[100] ^= 1
        world.write(other, to: second)
        #expect(world.loading("c", from: world.elsewhere()) == .notFound)
    }

    // MARK: The commitment

    @Test func aWrongPasswordIsDeniedAndADamagedSlotIsCorrupt() throws {
        try prepare()
        #expect(throws: TokenKeepError(.denied, "")) { try world.unlock("wrong") }
        let vault = try #require(try world.records.open())
        let slot = try #require(vault.keys.header.slot(.password))
        let headerKey = try world.opened().headerKey()
        for commitment in [slot.commitment, [UInt8](repeating: 0, count: 32)] {
            let spoilt = slot.keys.map { key in
                WrappedKey(purpose: key.purpose, isRetiring: key.isRetiring, id: key.id, box: key.box.map { $0 ^ 1 })
            }
            let other = KnownSlot(
                type: .password, id: slot.id, derivation: slot.derivation, createdAt: slot.createdAt,
                commitment: commitment, keys: spoilt, device: nil)
            world.putHeader(
                try HeaderMAC.file(
                    of: try vault.keys.header.with(slots: [.known(other)]), nameMAC: vault.keys.headerMAC,
                    headerKey: headerKey))
            let status = LockedVault.status { try world.unlock("old", world.elsewhere()) }
            #expect(status == (commitment == slot.commitment ? .corrupt : .denied))
        }
    }

    // MARK: --compromised

    /// The user takes new keys, and nothing that was planted comes along.
    @Test(arguments: Machine.allCases) private func newKeysAreMadeAlthoughTheHeaderWasAltered(machine: Machine) throws {
        try prepare()
        let forger = try Forger(world)
        let store = try store(machine)
        world.putHeader(try forger.header([.known(forger.passwordSlot), .other(type: 99, bytes: [1])]))
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.changePassword(store) }
        #expect(throws: TokenKeepError(.policy, "")) { try world.changePassword(isCompromised: true, store) }
        #expect(throws: TokenKeepError(.denied, "")) {
            _ = try store.passwords.change(
                from: SecretBytes("wrong"), to: SecretBytes("new"), isCompromised: true, isDroppingUnknownSlots: true)
        }
        _ = try store.passwords.change(
            from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true, isDroppingUnknownSlots: true)
        for other in [store, machine == .another ? world.elsewhere() : world.other()] {
            try world.unlock("new", other)
            #expect(world.loading("a", from: other) == .ok && world.loading("b", from: other) == .ok)
            let header = try #require(try other.records.open()).keys.header
            #expect(header.unknownTypes.isEmpty && header.era == 3 && !header.hasRetiringKeys)
        }
    }

    @Test(arguments: [false, true]) func noNewKeysAreMadeForAHeaderAgainstWhichRecordsTestify(withTheirIDs: Bool) throws
    {
        try prepare()
        let forger = try Forger(world)
        world.putHeader(try forger.header([forger.keyfileSlot(withTheirIDs: withTheirIDs)]))
        let before = files
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.changePassword(isCompromised: true) }
        #expect(throws: TokenKeepError(.corrupt, "")) {
            try world.changePassword(isCompromised: true, world.elsewhere())
        }
        #expect(throws: TokenKeepError(.corrupt, "")) { try world.setPassword("his", world.elsewhere()) }
        #expect(files == before)
    }

    // MARK: The kernel's keys

    @Test func theKeysOfAVaultThatIsGoneAreDropped() throws {
        try prepare()
        let keys = try #require(try world.records.open()).keys
        let id = "tokenkeep:\(Hexadecimal.text(keys.vaultID)):"
        #expect(KernelKeyring.descriptions(beginningWith: id).count == 4)
        let other = LockedVault()
        try other.save("x")
        _ = try other.list()
        #expect(KernelKeyring.descriptions(beginningWith: id).count == 4, "it is at its path")
        rename(world.path, world.directory.path + "/moved")
        _ = try other.list()
        #expect(KernelKeyring.descriptions(beginningWith: id) == [id + "trust"])
        rename(world.directory.path + "/moved", world.path)
        #expect(world.loading("a") == .locked)
        try world.unlock()
        #expect(world.loading("a") == .ok)
    }

    /// Whoever takes the vault's path away for a moment gets no older header accepted.
    @Test func whatIsTrustedOutlivesThePathOfTheVault() throws {
        try prepare()
        let old = world.file("header")
        try world.changePassword()
        rename(world.path, world.directory.path + "/moved")
        let other = LockedVault()
        _ = try other.list()
        _ = VaultModule(other.records).report(other.call)
        try other.setPassword()
        try other.unlock()
        try other.store.lock()
        rename(world.directory.path + "/moved", world.path)
        try expectRefused(old, on: .locked, password: "new")
    }

    /// The lock ends the class keys, and what is trusted stays; the removal of the password ends that too.
    @Test func aLockKeepsWhatIsTrusted() throws {
        try prepare()
        let id = "tokenkeep:\(Hexadecimal.text(try #require(try world.records.open()).keys.vaultID)):"
        try world.store.lock()
        #expect(Set(KernelKeyring.descriptions(beginningWith: id)) == [id + "trust", id + "locked"])
        try world.unlock()
        #expect(!KernelKeyring.descriptions(beginningWith: id).contains(id + "locked"))
        try world.removePassword()
        #expect(KernelKeyring.descriptions(beginningWith: id).isEmpty)
    }
}
