import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The state of the vault's locks, as last read.
struct VaultState: Sendable, Equatable {
    var hasPassword = false
    /// Whether the names of items are readable.
    var isOpen = true
    /// The levels whose class keys are available.
    var openLevels: Set<AccessLevel> = Set(AccessLevel.allCases)
    var vaultID: [UInt8] = []
}

/// The result of one read of the vault.
struct VaultLook: Sendable {
    var state = VaultState()
    /// Every record; nil if only ``changes`` were read.
    var whole: [ItemDetails]?
    /// The records that changed; nil details mean that the record is gone.
    var changes: [(name: ItemName, details: ItemDetails?)] = []
    /// The errors of records that cannot be read.
    var damages: [TokenKeepError] = []
    /// The error if the vault as a whole cannot be read.
    var problem: TokenKeepError?
}

/// Reads the vault's changed records. The vault's log of changes names them. Used by one worker at a time.
final class VaultReader: Sendable {
    private struct Known {
        var names: [[UInt8]: ItemName] = [:]
        var isComplete = false
        var reported: Set<String> = []
        var hasMade = false
    }

    let records: Records
    let watch: VaultWatch
    private let known = MutexGuarded(Known())

    /// Starts a watch of the vault.
    init(_ records: Records) throws(TokenKeepError) {
        self.records = records
        watch = try VaultWatch(records)
    }

    /// Reads the changes since the last call. The result contains every change that was announced before this call.
    func look() -> VaultLook {
        known.withLock { known in
            var look = VaultLook()
            let notice = watch.take()
            do throws(TokenKeepError) {
                let vault = try VaultReader.vault(records, &known)
                look.state = VaultReader.state(of: vault)
                if notice.hasChanged, notice.records == nil || notice.hasLost { known.isComplete = false }
                guard look.state.isOpen else {
                    if notice.hasChanged { known.isComplete = false }
                    return look
                }
                if !known.isComplete {
                    try readAll(&look, &known)
                } else if notice.hasChanged, let changed = notice.records {
                    try read(changed, &look, &known)
                }
            } catch {
                known.isComplete = false
                look.problem = error
            }
            look.damages.removeAll { !known.reported.insert($0.message).inserted }
            return look
        }
    }

    /// Opens the vault. Creates a missing vault once, because programs recognise a vault on the bus by its identifier.
    ///
    /// - Throws: ``Status/unavailable`` if the vault was deleted. An empty answer instead would mean to programs that
    ///   the user has signed out.
    private static func vault(_ records: Records, _ known: inout Known) throws(TokenKeepError) -> OpenVault? {
        if let vault = try records.open() {
            known.hasMade = true
            return vault
        }
        guard !known.hasMade else {
            throw TokenKeepError(.unavailable, "the vault's directory is gone", module: "vault")
        }
        known.hasMade = true
        return try records.openOrMake(CallContext(deadline: Deadline(milliseconds: 10_000)))
    }

    private static func state(of vault: OpenVault?) -> VaultState {
        guard let keys = vault?.keys else { return VaultState() }
        let levels = AccessLevel.allCases.filter { $0 != .memoryOnly && keys.isOpen(.level($0)) }
        return VaultState(
            hasPassword: keys.header.hasPassword, isOpen: keys.isOpen(.metadata), openLevels: Set(levels),
            vaultID: keys.vaultID)
    }

    private func readAll(_ look: inout VaultLook, _ known: inout Known) throws(TokenKeepError) {
        let found = try records.everyItem(CallContext(deadline: Deadline(milliseconds: 60_000)))
        look.whole = inOrder(found.items)
        look.damages = found.problems.filter { $0.status != .locked }
        known.names = [:]
        if let fileName = try records.fileNames() {
            for item in found.items { known.names[fileName(item.name)] = item.name }
        }
        known.isComplete = true
    }

    /// Sorts items by the times at which their records were written, because the items' own dates have only seconds.
    private func inOrder(_ items: [ItemDetails]) -> [ItemDetails] {
        guard let vault = try? records.open() else { return items }
        let timed = items.map { details in
            let name = Hexadecimal.text(vault.keys.fileName(of: details.name))
            let status = try? SystemCall.status(of: name, in: vault.records.number)
            return (details: details, changed: status.flatMap(\.self)?.identity.changed ?? 0)
        }
        return timed.sorted { $0.changed < $1.changed }.map(\.details)
    }

    private func read(_ changed: [[UInt8]], _ look: inout VaultLook, _ known: inout Known) throws(TokenKeepError) {
        for record in changed {
            do throws(TokenKeepError) {
                guard let name = try records.itemName(ofRecord: record) ?? known.names[record] else { continue }
                known.names[record] = name
                look.changes.append((name, try records.details(of: name)))
            } catch {
                guard error.status == .corrupt else { throw error }
                look.damages.append(error)
                if let name = known.names[record] { look.changes.append((name, nil)) }
            }
        }
    }
}
