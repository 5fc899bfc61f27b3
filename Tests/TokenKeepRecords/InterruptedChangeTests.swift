import Glibc
import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// A change of keys, made step by step and given up after each: as when its process is killed there.
enum ChangeOfKeys: CaseIterable {
    case firstPassword, compromised, removal

    /// The steps, in their order.
    enum Step: Int, CaseIterable, Comparable {
        case nothing, directory, begun, halfCopied, copied, companions, trusted, renamed, committed, halfRemoved,
            finished

        static func < (left: Step, right: Step) -> Bool { left.rawValue < right.rawValue }
    }

    /// The password before; nil if there is none.
    var before: String? { self == .firstPassword ? nil : "old" }
    /// The password afterwards; nil if there is none.
    var after: String? { self == .removal ? nil : "new" }

    /// Runs the change of the password up to the step `last`, as if the process were killed there.
    func run(_ world: LockedVault, until last: Step) throws {
        guard last > .nothing else { return }
        let opener = world.records.opener
        let before = try unlocked(world)
        guard last > .directory else {
            _ = try EraDirectory.make(before.vault.era.number + 1, of: before.vault.directory)
            return
        }
        let change = try EraSwitch.begin(
            before.vault, opener: opener, with: newOpener(world), retiring: [],
            device: before.vault.keys.header.device)
        guard last > .begun else { return }
        let after = UnlockedVault(vault: change.after, keys: change.made.keys)
        var copy = EraCopy(from: before.vault, before.presence, to: change.after, after.presence)
        guard last > .halfCopied else {
            let cancellation = Cancellation()
            let call = CallContext(deadline: .patient.cancelled(by: cancellation))
            #expect(throws: TokenKeepError(.cancelled, "")) {
                try copy.copyChanges(call) { done, _ in if done > 0 { cancellation.cancel() } }
            }
            #expect(!world.directory.names(in: "vault/era-\(change.made.era)/records").isEmpty)
            return
        }
        try copy.copyChanges(world.call)
        guard last > .copied else { return }
        let lock = try VaultLock(.whole, of: before.vault.directory, world.call)
        defer { lock.release() }
        try copy.copyChanges(world.call)
        try copy.copyCompanions()
        guard last > .companions else { return }
        guard last > .renamed else { return try commitInPart(change, opener, renaming: last == .renamed) }
        try change.commit(world.call)
        guard last > .committed else { return }
        guard last > .halfRemoved else {
            _ = try SystemCall.remove(Keyfile.name, in: before.vault.era.descriptor)
            return
        }
        _ = try change.finish()
    }

    private func unlocked(_ world: LockedVault) throws -> UnlockedVault {
        if let before { return try world.opened(before) }
        return try UnlockedVault(withoutPassword: #require(try world.records.open()))
    }

    private func newOpener(_ world: LockedVault) throws -> EraKeys.Opener {
        guard let after else { return .keyfile }
        let derivation = PasswordDerivation.new()
        return .password(try PasswordDerivation.key(of: SecretBytes(after), by: derivation, world.call), derivation)
    }

    /// What ``EraSwitch/commit(_:)`` does before it is killed.
    private func commitInPart(_ change: borrowing EraSwitch, _ opener: VaultOpener, renaming: Bool) throws {
        let (before, after) = (change.before, change.after)
        let entries = [
            HeaderTrust.Entry(
                before.keys.header, file: before.headerFile, headerKey: try before.keys.currentKey(for: .header).bytes),
            HeaderTrust.Entry(
                after.keys.header, file: after.headerFile, headerKey: try after.keys.currentKey(for: .header).bytes),
        ]
        try opener.residentKeys.keep(
            self.after == nil ? [] : change.made.keys, HeaderTrust(entries: entries, path: try opener.path()),
            of: before.keys.vaultID)
        if renaming { try before.directory.switchTo(change.made.era) }
    }

    /// Does the whole change as a user does it.
    func finish(_ world: LockedVault) throws {
        switch self {
        case .firstPassword: try world.setPassword("new", world.other())
        case .compromised: try world.changePassword(from: "old", to: "new", isCompromised: true, world.other())
        case .removal: try world.removePassword("old", world.other())
        }
    }
}

/// A change of keys that was cut short loses nothing, and what it leaves is removed.
@Suite struct InterruptedChangeTests {
    private let world = LockedVault()
    /// More than are copied between two reports of the progress.
    private static let accounts = (0..<80).map { "account \($0)" }
    private static let cases = ChangeOfKeys.allCases.flatMap { change in
        ChangeOfKeys.Step.allCases.map { (change, $0) }
    }

    private func fill(_ levels: [AccessLevel] = [.whenUnlocked, .afterFirstUnlock]) throws {
        for (index, account) in Self.accounts.enumerated() {
            try world.save(account, account, level: levels[index % levels.count])
        }
        var item = try world.records.begin(ItemName(service: "s", account: "cleared"), world.call)
        try item.apply(.cleared(pending: [removal(item)]))
    }

    private func removal(_ item: borrowing ItemTransaction) -> PendingWrite {
        PendingWrite(module: "secret-service", machine: item.machineHash, kind: .remove, since: UnixTime(1))
    }

    private func everythingIsReadable(_ accounts: [String] = accounts, from store: Store? = nil) throws -> Bool {
        try accounts.allSatisfy { try world.load($0, from: store ?? world.other()) == $0 }
    }

    private var eras: [String] { world.directory.names(in: "vault").filter { $0.hasPrefix("era-") } }

    @Test(arguments: InterruptedChangeTests.cases)
    private func nothingIsLost(change: ChangeOfKeys, step: ChangeOfKeys.Step) throws {
        if let before = change.before { try world.setPassword(before) }
        if LockedVault.mayBind { try world.bind(change.before) }
        try fill(
            LockedVault.mayBind
                ? [.whenUnlocked, .afterFirstUnlock, .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly]
                : [.whenUnlocked, .afterFirstUnlock])
        let early = try #require(try world.records.open()).era.number
        try change.run(world, until: step)
        let isSwitched = step >= .renamed
        #expect(world.era == "vault/era-\(isSwitched ? early + 1 : early)")

        // Readers with kept descriptors and new ones, and writers, go on in the era that is in force.
        let password = isSwitched ? change.after : change.before
        for store in [world.store, world.other()] { #expect(try everythingIsReadable(from: store)) }
        #expect(try #require(try world.records.open()).keys.header.hasPassword == (password != nil))
        #expect(try world.records.journal.mayHavePending())
        #expect(try world.records.journal.pendingRecords().records.values.map(\.pending.count) == [1])
        try world.save("late", "late")
        #expect(try world.clear(Self.accounts[0]))
        #expect(world.loading("cleared") == .notFound)

        // Nor does a lock, and whoever then has the password has everything.
        if let password {
            try world.store.lock()
            #expect(world.loading("late") == .locked)
            try world.unlock(password, world.other())
            #expect(eras == [String(world.era.dropFirst("vault/".count))], "the unlock removes what was left")
        }
        let accounts = Self.accounts.dropFirst() + ["late"]
        #expect(try everythingIsReadable(Array(accounts)))

        if !isSwitched {
            try change.finish(world)
            #expect(eras == ["era-\(early + 1)"])
        }
        for store in [world.store, world.other()] {
            #expect(try everythingIsReadable(Array(accounts), from: store))
            #expect(world.loading(Self.accounts[0], from: store) == .notFound)
            #expect(try store.records.journal.pendingRecords().records.count == 1)
        }
        if change.after == nil { #expect(try everythingIsReadable(Array(accounts), from: world.elsewhere())) }
    }

    /// An older link `current`, put back after a change that was cut short, does not make the later era an unfinished one.
    @Test(arguments: ChangeOfKeys.allCases, [ChangeOfKeys.Step.renamed, .committed, .finished])
    private func theEraInForceStays(change: ChangeOfKeys, step: ChangeOfKeys.Step) throws {
        if let before = change.before { try world.setPassword(before) }
        try world.save("early", "early")
        let stale = try #require(try world.records.open())
        try change.run(world, until: step)
        let later = world.era
        #expect(world.directory.names(in: later).contains("making") == (step != .finished))
        #expect(try world.load("early", from: world.other()) == "early")
        #expect(!world.directory.names(in: later).contains("making"))
        try putBack(stale.era.number)
        #expect(throws: TokenKeepError.self) { try change.finish(world) }
        #expect(world.directory.names(in: later).contains("keyfile"))
    }

    /// A process that removes rubbish by an earlier view of the vault leaves no lock file in the era in force.
    @Test private func rubbishIsNotTheEraInForce() throws {
        try world.save("early", "early")
        let stale = try #require(try world.records.open())
        try ChangeOfKeys.firstPassword.run(world, until: .committed)
        try world.records.opener.removeRubbish(of: stale)
        #expect(Set(["header", "keyfile"]).isSubset(of: world.directory.names(in: world.era)))
        #expect(!world.directory.names(in: world.era).contains("making"))
    }

    private func putBack(_ era: UInt64) throws {
        unlink(world.path + "/current")
        #expect(symlink("era-\(era)", world.path + "/current") == 0)
    }

    /// What the old keyfile and the old password opened opens no file of the new era.
    @Test(arguments: ChangeOfKeys.allCases) private func oldKeysOpenNothing(change: ChangeOfKeys) throws {
        if let before = change.before { try world.setPassword(before) }
        try fill()
        try world.save("damaged", "damaged")
        world.spoil("records/" + (try world.recordFile(of: "damaged")))
        let old = try change.before.map { try world.opened($0) }
        let vault = try #require(try old?.vault ?? world.records.open())
        let purposes: [KeyPurpose] = [.level(.whenUnlocked), .level(.afterFirstUnlock), .metadata]
        let keys =
            try purposes.map { try vault.keys.currentKey(for: $0).bytes } + [vault.keys.names, vault.keys.states]
        #expect(try opened(by: keys) == Self.accounts.count, "the search finds the old secrets")
        try change.finish(world)
        try world.save("late", "late")
        #expect(try opened(by: keys) == 0)
        #expect(world.recordFiles.count == Self.accounts.count + 3)
        let present = try change.after.map { try world.opened($0).vault } ?? #require(try world.records.open())
        let current = try purposes.map { try present.keys.currentKey(for: $0).bytes }
        #expect(try opened(by: current) == Self.accounts.count + 2)
    }

    /// How many secret boxes of records in the era in force any of the keys opens.
    private func opened(by keys: [SecretBytes]) throws -> Int {
        try world.recordFiles.count { file in
            let bytes = world.file("records/" + file)
            let (prefix, boxes) = try bytes.lent { bytes throws(FormatFault) in
                var reader = ByteReader(bytes)
                let prefix = try RecordPrefix.parse(&reader, allowing: .carriedOver)
                _ = try reader.take(prefix.stateLength, "state")
                let metadata = try reader.array(prefix.metadataLength, "metadata")
                return (prefix, (metadata, try reader.array(prefix.secretLength, "secret")))
            }
            let data = prefix.secretAdditionalData(metadataBox: boxes.0)
            return keys.contains { key in
                (try? boxes.1.lent { box throws(FormatFault) in
                    try AuthenticatedBox.open(box, key: key, data: data, "secret")
                }) != nil
            }
        }
    }

    // MARK: Failures

    private enum Obstacle: CaseIterable {
        case eraIsAFile, currentCannotBeReplaced, recordOfALaterVersion
    }

    @Test(arguments: ChangeOfKeys.allCases) private func aChangeThatFailsLeavesEverything(change: ChangeOfKeys) throws {
        if let before = change.before { try world.setPassword(before) }
        try fill()
        for obstacle in Obstacle.allCases {
            let remove = try put(obstacle)
            #expect(throws: TokenKeepError.self, "\(obstacle)") { try change.finish(world) }
            remove()
            #expect(try everythingIsReadable() && everythingIsReadable(from: world.store), "\(obstacle)")
            #expect(try #require(try world.records.open()).keys.header.hasPassword == (change.before != nil))
        }
        try change.finish(world)
        #expect(try everythingIsReadable())
        #expect(eras.count == 1)
    }

    /// - Returns: takes the obstacle away again.
    private func put(_ obstacle: Obstacle) throws -> () -> Void {
        let world = world
        let next = world.path + "/era-\(try #require(try world.records.open()).era.number + 1)"
        switch obstacle {
        case .eraIsAFile:
            world.directory.write([1], to: "obstacle")
            rename(world.directory.path + "/obstacle", next)
            return { unlink(next) }
        case .currentCannotBeReplaced:
            mkdir(world.path + "/current.tmp", 0o700)
            return { rmdir(world.path + "/current.tmp") }
        case .recordOfALaterVersion:
            let name = "records/" + world.recordFiles[1]
            let good = world.file(name)
            var later = good
            later[8] = 9
            world.write(later, to: name)
            return { world.write(good, to: name) }
        }
    }

    @Test func aChangeCanBeCancelled() throws {
        try fill()
        #expect(throws: TokenKeepError(.cancelled, "")) {
            try world.store.passwords.set(SecretBytes("new")) { done, _ in if done > 0 { world.store.cancel() } }
        }
        #expect(world.era == "vault/era-1")
        #expect(try everythingIsReadable(from: world.elsewhere()))
        try world.setPassword()
        #expect(eras == ["era-2"])
        #expect(try everythingIsReadable())
    }

    @Test func oneProcessAtATimeReplacesKeys() throws {
        try fill()
        var statuses: Set<Status> = []
        _ = try world.store.passwords.set(SecretBytes("old")) { _, _ in
            statuses.insert(LockedVault.status { try world.setPassword("other", world.other()) })
        }
        #expect(statuses == [.busy])
        try world.store.lock()
        #expect(throws: TokenKeepError(.denied, "")) { try world.unlock("other") }
        try world.unlock("old")
        #expect(try everythingIsReadable())
    }

    /// The code was made of keys that the change was about to end.
    @Test func aHeaderThatChangedMeanwhileEndsTheChange() throws {
        try world.setPassword()
        try fill()
        var code: SecretBytes?
        #expect(throws: TokenKeepError(.conflict, "")) {
            try world.store.passwords.change(from: SecretBytes("old"), to: SecretBytes("new"), isCompromised: true) {
                _, _ in
                if code == nil { code = try? world.other().passwords.createRecoveryCode(password: SecretBytes("old")) }
            }
        }
        #expect(try everythingIsReadable())
        try world.unlock("old")
        #expect(eras == ["era-2"])
        _ = try world.other().passwords.recover(code: try #require(code), newPassword: SecretBytes("third"))
        #expect(try everythingIsReadable())
    }

    /// Killed between the two copies of the header: the first is as before, and so is the password; what the second brought
    /// goes.
    @Test func theCodeIsGoodWhileTheFirstCopyIsTheOldOne() throws {
        try world.setPassword()
        try fill()
        let code = try world.store.passwords.createRecoveryCode(password: SecretBytes("old"))
        let before = world.file("header")
        try world.changePassword()
        try world.store.lock()
        world.write(before, to: "header")
        // The machine on which it was changed takes no older header, but the second copy; elsewhere the first copy counts.
        #expect(throws: TokenKeepError(.denied, "")) { try world.unlock("old") }
        try world.unlock("new")
        let elsewhere = world.elsewhere()
        #expect(throws: TokenKeepError(.denied, "")) { try world.unlock("new", elsewhere) }
        _ = try elsewhere.passwords.recover(code: code, newPassword: SecretBytes("third"))
        #expect(try everythingIsReadable(from: elsewhere))
        #expect(world.file("header") == world.file("header.2"))
        for password in ["old", "new"] {
            #expect(throws: TokenKeepError(.denied, "")) { try world.unlock(password, world.elsewhere()) }
        }
    }
}
