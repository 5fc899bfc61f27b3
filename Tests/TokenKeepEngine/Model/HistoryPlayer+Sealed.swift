import Glibc
import TestSupport
import TokenKeepCore

@testable import TokenKeepEngine
@testable import TokenKeepKeys
@testable import TokenKeepRecords

/// Checks of items that the vault seals for the service.
extension HistoryPlayer {
    private var call: CallContext { .patient }

    /// The item's value in a service, opened if the vault sealed it; nil if the service lacks the item.
    func value(_ account: Int, in service: ScriptedService?) throws -> String? {
        guard let item = try service?.items[name(account)] else { return nil }
        // Open the vault afresh: a cached one would lack keys that were made since.
        guard isSealed(item), let vault = try records.opener.open(fresh: true) else { return item.secret.utf8String }
        let keys = try password.map {
            try PasswordSlots(records.opener).open(.password, with: SecretBytes($0), vault, call).vault.keys
        }
        return try SealedSecret.open(item.secret, of: item.details, keys: keys ?? vault.keys, nil).utf8String
    }

    private func isSealed(_ item: TokenItem) -> Bool { SealedSecret.vaultID(of: item.secret) != nil }

    /// Whether a lock hides the service's item, because the item is sealed and no record answers in its place.
    func isHiddenSealed(_ account: Int, _ locking: Locking) throws -> Bool {
        guard let item = try world.items[name(account)], isSealed(item), try removal(account) == nil else {
            return false
        }
        return locking == .all || item.details.accessLevel == .whenUnlocked
    }

    /// The vault's password after a change that failed either before or after the keys were replaced.
    func present(_ old: String?, or new: String) throws -> String? {
        guard let vault = try records.opener.open(), vault.keys.header.hasPassword else { return nil }
        let isNew = (try? PasswordSlots(records.opener).open(.password, with: SecretBytes(new), vault, call)) != nil
        return isNew ? new : old
    }

    /// Checks at the end that the records name exactly the sealed items of the service, and that no older key is left.
    func checkSealedCopies() throws {
        guard kind == .sealed else { return }
        let step = HistoryStep(action: .unlock, store: 1, account: 0)
        let problem =
            try password.map { try store(step).unlock(SecretBytes($0)).problem }
            ?? store(step).pendingChanges.sync().problem
        try require(problem == nil, step, "items are not sealed anew: \(problem.map { "\($0)" } ?? "")")
        guard let vault = try records.open() else { return }
        try require(!vault.keys.header.hasRetiringKeys, step, "older keys are left")
        let entries = try SealedRecords(vault).all().entries
        for account in items.indices {
            let item = try world.items[name(account)].flatMap { isSealed($0) ? $0 : nil }
            let holders = try entries.first { try $0.name == name(account) }?.copies.holders ?? []
            let fingerprint = item.map { vault.keys.journal.fingerprint(of: $0.secret) }
            try require(
                item == nil ? holders.isEmpty : holders.contains { $0.fingerprints.last == fingerprint }, step,
                "account \(account): the record names \(holders.count) copies, and the service has "
                    + (item == nil ? "none" : "one"))
        }
    }
}

/// The step that exports items.
extension HistoryPlayer {
    func export(_ step: HistoryStep, isPartial: Bool) throws {
        let path = vaultPath + ".export"
        unlink(path)
        let (before, wasCalm, wasClosed) = (items.map(\.possible), isCalm(step), locking != nil)
        let mayBeUnseen = try !isSeen(step)
        let passphrase = try SecretBytes("pass")
        let (outcome, status) = attempt {
            try store(step).transfer.export(to: path, passphrase: passphrase, isPartial: isPartial)
        }
        note(step, "\(status) \(outcome.map { "\($0.exported) exported, \($0.locked) locked" } ?? "")")
        guard let outcome else {
            let hasCause = !wasCalm && isOutage(status) || wasClosed && status == .locked && !isPartial
            return try require(hasCause, step, "\(status.name) without a cause")
        }
        var exported: [ItemName: TokenItem] = [:]
        let reader = try ExportReader(path, passphrase: passphrase, call)
        try reader.forEachItem(call) { plaintext throws(TokenKeepError) in
            do throws(FormatFault) {
                let item = try plaintext.lent { bytes throws(FormatFault) in try ExportedItem.parse(bytes) }
                exported[item.details.name] = item
            } catch {
                throw error.error(in: path)
            }
        }
        try require(exported.count == outcome.exported, step, "\(exported.count) items are in the file")
        let isWhole = outcome.locked == 0 && outcome.lockedPlace == nil && !mayBeUnseen
        for account in items.indices {
            let value = try exported[name(account)]?.secret.utf8String
            let possible = before[account].union(items[account].possible)
            guard value != nil || isWhole else { continue }
            let shown = "account \(account) is exported as \(value ?? "none")"
            try require(possible.contains(value), step, shown + ", expected one of \(self.shown(possible))")
            if !items[account].mayBeShadowed { items[account].see(value) }
        }
    }
}
