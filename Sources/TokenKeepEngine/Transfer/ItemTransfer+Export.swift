public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of an export: how many items were exported, and which were left out.
public struct ExportOutcome: Sendable {
    /// The number of items in the export file.
    public var exported = 0
    /// The number of items that were left out because items of their level never leave this machine.
    public var leftOut = 0
    /// The number of locked items that were left out; always 0 unless the export is partial.
    public var locked = 0
    /// The first error of a locked module other than the vault; nil if no such module is locked.
    ///
    /// Items of a locked module are left out and not counted.
    public var lockedPlace: TokenKeepError?
    /// The names of modules that cannot list their namespaces.
    ///
    /// Their items in namespaces that the export does not know are left out and not counted.
    public var modulesOfOneNamespace: [String] = []
}

extension ItemTransfer {
    /// Writes the store's items to a new file, encrypted with a passphrase.
    ///
    /// The file contains the items of all namespaces and modules of the stack, except memory-only items. A module that
    /// cannot list its namespaces is asked only for the store's namespace and for the namespaces of other modules. The
    /// outcome names such a module. The store's timeout applies to each item, not to the whole export.
    ///
    /// - Parameter isPartial: whether to leave out locked items. If false, a locked item ends the export.
    /// - Throws: ``Status/locked`` if an item is locked; ``Status/duplicate`` if the file exists; the errors of reading
    ///   an item. After an error there is no file.
    public func export(
        to path: String, passphrase: SecretBytes, isPartial: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> ExportOutcome {
        let call = try store.begin(.load, until: store.longDeadline)
        try store.unlocking.withGivenPassword(call)
        let file = try ExportWriter(
            path, passphrase: passphrase, by: PasswordDerivation.new(store.records.opener.costs), inTime(call))
        let outcome = try writeAll(to: file, isPartial: isPartial, call, progress)
        try file.finish()
        return outcome
    }

    private func writeAll(
        to file: ExportWriter, isPartial: Bool, _ call: CallContext, _ progress: JournalProgress?
    ) throws(TokenKeepError) -> ExportOutcome {
        var outcome = ExportOutcome()
        let names = try namesToExport(isPartial: isPartial, &outcome, call)
        for (index, name) in names.enumerated() {
            progress?(index, names.count)
            do throws(TokenKeepError) {
                let item = try store.unlocking.retrying(call, for: name) { call throws(TokenKeepError) in
                    try store.load(name, inTime(call))
                }
                guard !item.details.accessLevel.isThisDeviceOnly else {
                    outcome.leftOut += 1
                    continue
                }
                try file.append(ExportedItem.plaintext(of: item))
                outcome.exported += 1
            } catch {
                if error.status == .notFound { continue }  // the item was cleared meanwhile
                guard error.status == .locked, isPartial else { throw error }
                outcome.locked += 1
            }
        }
        progress?(names.count, names.count)
        return outcome
    }

    private func namesToExport(
        isPartial: Bool, _ outcome: inout ExportOutcome, _ call: CallContext
    ) throws(TokenKeepError) -> [ItemName] {
        let inVault = try store.records.everyItem(call)
        var namespaces = Set(inVault.items.map(\.name.namespace))
        namespaces.insert(store.namespace)
        var problems = inVault.problems
        try addNamespaces(to: &namespaces, &problems, &outcome, call)
        var names = Set(inVault.items.map(\.name))
        var bound = Set(inVault.items.lazy.filter(\.accessLevel.needsDevice).map(\.name))
        for namespace in namespaces.sorted() {
            let listing = try store.reconciler.list(namespace: namespace, service: nil, inTime(call))
            problems += listing.problems
            names.formUnion(listing.items.lazy.filter { $0.accessLevel != .memoryOnly }.map(\.name))
            bound.formUnion(listing.items.lazy.filter(\.accessLevel.needsDevice).map(\.name))
        }
        // The list contains the levels, so these items are left out before their secrets are read, which may be locked.
        outcome.leftOut += bound.count
        names.subtract(bound)
        if let problem = problems.first(where: { $0.status != .locked || !isPartial }) { throw problem }
        outcome.lockedPlace = problems.first { $0.status == .locked && $0.module != "vault" }
        if isPartial { outcome.locked += inVault.lockedCount }
        return names.sorted()
    }

    /// Adds the names of the namespaces in which the stack's modules have items.
    private func addNamespaces(
        to namespaces: inout Set<String>, _ problems: inout [TokenKeepError], _ outcome: inout ExportOutcome,
        _ call: CallContext
    ) throws(TokenKeepError) {
        for module in store.dispatcher.places(for: .list).modules
        where !module.holdsRecords && module.name != store.dispatcher.memory.name {
            do throws(TokenKeepError) {
                if let found = try module.namespaces(inTime(call)) {
                    namespaces.formUnion(found)
                } else {
                    outcome.modulesOfOneNamespace.append(module.name)
                }
            } catch {
                problems.append(error)
            }
        }
    }
}
