import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// The steps that set, change or remove the password, and that lock or unlock the vault.
extension HistoryPlayer {
    func changeKeys(_ step: HistoryStep) throws {
        passwords += 1
        let (store, new) = (store(step), "p\(passwords)")
        let old = try SecretBytes(password ?? "none")
        let mayBeEnforced = items.contains(where: \.mayBeEnforced)
        var waiting = step.interlude?.step ?? []
        var broken: (any Error)?
        var wasCut = false
        let isLate = step.interlude?.calls == 1
        let progress: JournalProgress = { [unowned self] done, total in
            guard !isLate || done == total else { return }
            let steps = waiting
            waiting = []
            // A change of keys unlocks the vault for all stores.
            if !steps.isEmpty { locking = nil }
            do {
                for step in steps {
                    try play(step, isInterlude: false)
                    wasCut = wasCut || world.wasCut
                }
            } catch { broken = error }
        }
        let wasCalm = isCalm(step)
        let (_, status) = attempt {
            switch step.action {
            case .changePassword(let isCompromised):
                try store.passwords.change(
                    from: old, to: SecretBytes(new), isCompromised: isCompromised, progress: progress)
            case .removePassword: try store.passwords.remove(old, isDestroying: false, progress: progress)
            default: try store.passwords.set(SecretBytes(new), progress: progress)
            }
        }
        note(step, "\(status)")
        if let broken { throw broken }
        switch (step.action, status) {
        case (.setPassword, .ok): try require(password == nil, step, "a second first password")
        case (.setPassword, .invalid): return try require(password != nil, step, "INVALID without a cause")
        case (_, .unsupported): return try require(password == nil, step, "UNSUPPORTED without a cause")
        case (.removePassword, .policy):
            if try isOpen { locking = nil }
            return try require(mayBeEnforced, step, "POLICY without a cause")
        case (_, .cancelled):
            try require(wasCut || world.wasCut, step, "CANCELLED by nobody")
            // The new keys may be in force already: the module's sealed items are encrypted anew after that.
            password = try present(password, or: new)
            if try isOpen { locking = nil }
            return
        case (_, .ok): try require(password != nil, step, "no password to change")
        case (_, let status) where kind == .sealed && isOutage(status) && !(wasCalm && isCalm(step)):
            // The change failed in the module: its sealed items stay under the earlier keys.
            password = try present(password, or: new)
            if try isOpen { locking = nil }
            return
        default: try require(false, step, "a change of keys failed with \(status.name)")
        }
        if case .removePassword = step.action { password = nil } else { password = new }
        locking = nil
    }

    var isOpen: Bool {
        get throws {
            guard let keys = try records.open()?.keys else { return false }
            let purposes: [KeyPurpose] = [.metadata, .level(.whenUnlocked), .level(.afterFirstUnlock)]
            return purposes.allSatisfy { purpose in
                keys.currentKeyID(for: purpose).map { (try? keys.key($0, for: purpose)) != nil } ?? false
            }
        }
    }

    func unlock(_ step: HistoryStep) throws {
        // If an earlier removal of the password is unfinished, an unlock without a password continues that removal.
        let isUnfinished =
            try password == nil && records.opener.open(fresh: true)?.keys.header.hasRetiringKeys == true
        let (_, wrong) = attempt { try store(step).unlock(SecretBytes("wrong")) }
        let (_, status) = attempt { try store(step).unlock(SecretBytes(password ?? "none")) }
        note(step, "\(status)")
        let refusal = password == nil ? Status.unsupported : .denied
        try require(wrong == (isUnfinished ? .ok : refusal), step, "\(wrong.name) for a wrong password")
        let mayBeOK = password != nil || isUnfinished && status == .ok
        try require(status == (mayBeOK ? .ok : .unsupported), step, "an unlock failed with \(status.name)")
        locking = nil
    }

    func lock(_ step: HistoryStep, _ extent: Locking) throws {
        let (_, status) = attempt { try store(step).lock(extent) }
        note(step, "\(status)")
        try require(status == (password == nil ? .unsupported : .ok), step, "a lock failed with \(status.name)")
        if password != nil, locking != .all { locking = extent }
    }

    /// Whether a lock hides the value that the vault has of the item.
    func isHidden(_ account: Int) throws -> Bool {
        guard let locking else { return false }
        guard let record = try record(account) else { return try isHiddenSealed(account, locking) }
        guard record.holdsValue else { return false }
        return locking == .all || record.details?.accessLevel == .whenUnlocked
    }

    func record(_ account: Int) throws -> JournalRecord? {
        try records.record(of: name(account), .patient)
    }
}
