public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of an export: the numbers of exported items and of items left out.
public struct ExportOutcome: Sendable {
    /// The number of items in the export file.
    public var exported = 0
    /// The number of items that were left out because their level never leaves this machine.
    public var leftOut = 0
    /// The number of locked items that were left out; always 0 unless the export is partial.
    public var locked = 0
    /// The first error of a locked module other than the vault; nil if no such module is locked.
    ///
    /// The items of a locked module are left out and not counted.
    public var lockedPlace: TokenKeepError?
    /// The names of the modules that cannot list their namespaces.
    ///
    /// A module's items in a namespace that the export does not know are left out and not counted.
    public var modulesOfOneNamespace: [String] = []
}

/// The outcome of an import: the numbers of saved and of kept items.
public struct ImportOutcome: Sendable {
    /// The number of items that the import saved.
    public var imported = 0
    /// The number of items that existed already and were not changed.
    public var kept = 0
}

extension Store {
    /// Writes the store's items to a new file, encrypted under a passphrase.
    ///
    /// The file contains the items of all namespaces and modules of the stack, except memory-only items. A module that
    /// cannot list its namespaces is asked only for the store's namespace and for namespaces found in other modules.
    /// The outcome names such a module. The store's timeout applies to each item, not to the whole export.
    ///
    /// - Parameter isPartial: whether locked items are left out. Otherwise a locked item ends the export.
    /// - Throws: ``Status/locked`` if an item is locked, ``Status/duplicate`` if the file exists, and any failure to
    ///   read an item. After an error no file is left.
    public func export(
        to path: String, passphrase: SecretBytes, isPartial: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> ExportOutcome {
        let call = try begin(.load, until: Deadline(milliseconds: .max))
        try unlockWithGivenPassword(call)
        let file = try ExportWriter(
            path, passphrase: passphrase, by: PasswordDerivation.new(records.opener.costs), inTime(call))
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
                let item = try unlocking(call, for: name) { call throws(TokenKeepError) in
                    try load(name, inTime(call))
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

    /// A copy of the call's context with the time limit of one item, which begins now: a prompt may have taken long.
    private func inTime(_ call: CallContext) -> CallContext { call.until(Deadline(milliseconds: timeoutMilliseconds)) }

    private func namesToExport(
        isPartial: Bool, _ outcome: inout ExportOutcome, _ call: CallContext
    ) throws(TokenKeepError) -> [ItemName] {
        let inVault = try records.everyItem(call)
        var namespaces = Set(inVault.items.map(\.name.namespace))
        namespaces.insert(namespace)
        var problems = inVault.problems
        try addNamespaces(to: &namespaces, &problems, &outcome, call)
        var names = Set(inVault.items.map(\.name))
        var bound = Set(inVault.items.lazy.filter(\.accessLevel.needsDevice).map(\.name))
        for namespace in namespaces.sorted() {
            let listing = try reconciler.list(namespace: namespace, service: nil, inTime(call))
            problems += listing.problems
            names.formUnion(listing.items.lazy.filter { $0.accessLevel != .memoryOnly }.map(\.name))
            bound.formUnion(listing.items.lazy.filter(\.accessLevel.needsDevice).map(\.name))
        }
        // The list contains the level of each item. Leave these items out before their secrets are read, which may be locked.
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
        for module in dispatcher.places(for: .list).modules
        where !module.holdsRecords && module.name != dispatcher.memory.name {
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

    /// Saves every item of an export file, after the whole file was verified.
    ///
    /// The store's timeout applies to each item, not to the whole import.
    ///
    /// - Parameter isReplacing: whether an existing item is replaced. Otherwise the existing item is kept.
    /// - Throws: Before the first save: ``Status/denied`` for a wrong passphrase, ``Status/corrupt`` for an altered
    ///   file, ``Status/policy`` if this vault cannot meet an item's protection requirement. Later: the failure to save
    ///   an item, or ``Status/corrupt`` if the file changes during the import. Items that were saved before the failure
    ///   stay.
    public func `import`(
        from path: String, passphrase: SecretBytes, isReplacing: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> ImportOutcome {
        let call = try begin(.save, until: Deadline(milliseconds: .max))
        var outcome = ImportOutcome()
        var current: ItemName?
        do throws(TokenKeepError) {
            let file = try ExportReader(path, passphrase: passphrase, inTime(call))
            let count = try verify(file, path, call)
            var granted = call
            try file.forEachItem(call) { plaintext throws(TokenKeepError) in
                progress?(outcome.imported + outcome.kept, count)
                let item = try Store.item(plaintext, path)
                current = item.details.name
                try save(item, isReplacing: isReplacing, &granted, &outcome)
                current = nil
            }
            progress?(count, count)
        } catch {
            throw Store.cutShort(error, at: current, outcome)
        }
        return outcome
    }

    /// Reads the whole file and checks every item's protection requirement. Saves nothing.
    ///
    /// - Returns: the number of items.
    private func verify(_ file: ExportReader, _ path: String, _ call: CallContext) throws(TokenKeepError) -> Int {
        var refusal: TokenKeepError?
        let count = try file.forEachItem(call) { plaintext throws(TokenKeepError) in
            let item = try Store.item(plaintext, path)
            guard refusal == nil else { return }
            do throws(TokenKeepError) {
                try checkRequirements(of: item.details)
            } catch {
                // Read the whole file before this refusal is thrown, so that a damaged file is reported as CORRUPT.
                refusal = error
            }
        }
        if let refusal { throw refusal }
        return Int(clamping: count)
    }

    private static func item(_ plaintext: SecretBytes, _ path: String) throws(TokenKeepError) -> TokenItem {
        do throws(FormatFault) {
            return try plaintext.lent { bytes throws(FormatFault) in try ExportedItem.parse(bytes) }
        } catch {
            throw ExportReader.failure(error, path)
        }
    }

    private func save(
        _ item: TokenItem, isReplacing: Bool, _ call: inout CallContext, _ outcome: inout ImportOutcome
    ) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            try save(item, isReplacing: isReplacing, &call)
            outcome.imported += 1
        } catch {
            guard error.status == .duplicate else { throw error }
            outcome.kept += 1
        }
    }

    /// The error that ended an import, with the numbers of items saved and kept before.
    ///
    /// - Parameter name: the item that could not be saved; nil if no item was being saved.
    private static func cutShort(
        _ error: TokenKeepError, at name: ItemName?, _ outcome: ImportOutcome
    ) -> TokenKeepError {
        guard outcome.imported + outcome.kept > 0 else {
            guard error.status == .corrupt, name == nil else { return error }
            return TokenKeepError(.corrupt, error.message, module: error.module, hint: "nothing was imported")
        }
        let item = name.map { error.message.hasPrefix("\($0)") ? "not " : "not \($0): " } ?? ""
        return TokenKeepError(
            error.status,
            "imported \(outcome.imported), kept \(outcome.kept), but \(item)\(error.message)",
            module: error.module, hint: error.hint ?? "import it again: what was imported is kept")
    }

    /// Saves one item. If the user enters a password for the item, the password serves the following items too.
    private func save(_ item: TokenItem, isReplacing: Bool, _ call: inout CallContext) throws(TokenKeepError) {
        let details = item.details
        var request = try SaveRequest(
            name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
            label: details.label, attributes: details.attributes, expiresAt: details.expiresAt,
            precondition: isReplacing ? .none : .absent)
        request.inherited = details
        var granted = call
        _ = try unlocking(call, for: details.name) { call throws(TokenKeepError) in
            granted = call
            return try reconciler.save(request, inTime(call))
        }
        call = granted
    }

    private func checkRequirements(of details: ItemDetails) throws(TokenKeepError) {
        guard !details.flags.isDisjoint(with: .requirements) else { return }
        try protection(of: details.accessLevel, details.flags).checkRequirements(of: details)
    }
}
