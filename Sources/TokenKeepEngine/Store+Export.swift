public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// What an export came to.
public struct ExportOutcome: Sendable {
    /// How many items it has.
    public var exported = 0
    /// How many are of a level that never leaves this machine.
    public var leftOut = 0
    /// How many are locked; only where that is allowed.
    public var locked = 0
    /// Names a place other than the vault that is locked, so that its items are left out uncounted; nil where none is.
    public var lockedPlace: TokenKeepError?
}

/// What an import came to.
public struct ImportOutcome: Sendable {
    /// How many items were saved.
    public var imported = 0
    /// How many were there already and stay as they are.
    public var kept = 0
}

extension Store {
    /// Writes the vault's items of all namespaces, and those of the store's namespace in the other modules of the stack,
    /// sealed under a passphrase, to a file that must not exist. Each item may take as long as a call.
    ///
    /// - Parameter isPartial: whether locked items are left out.
    /// - Throws: ``Status/locked`` where an item is locked, ``Status/duplicate`` where the file exists, and what keeps an
    ///   item from being read; then no file is left.
    public func export(
        to path: String, passphrase: SecretBytes, isPartial: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> ExportOutcome {
        let call = try begin(.load, until: Deadline(milliseconds: .max))
        let file = try ExportWriter(path, passphrase: passphrase, inTime(call))
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
                if error.status == .notFound { continue }  // cleared meanwhile
                guard error.status == .locked, isPartial else { throw error }
                outcome.locked += 1
            }
        }
        progress?(names.count, names.count)
        return outcome
    }

    /// One of many calls. It begins anew after the user was asked, who may take his time.
    private func inTime(_ call: CallContext) -> CallContext { call.until(Deadline(milliseconds: timeoutMilliseconds)) }

    private func namesToExport(
        isPartial: Bool, _ outcome: inout ExportOutcome, _ call: CallContext
    ) throws(TokenKeepError) -> [ItemName] {
        let inVault = try records.everyItem(call)
        let inNamespace = try list(nil, inTime(call))
        let problems = inVault.problems + inNamespace.problems
        if let problem = problems.first(where: { $0.status != .locked || !isPartial }) { throw problem }
        outcome.lockedPlace = inNamespace.problems.first { $0.status == .locked && $0.module != "vault" }
        if isPartial { outcome.locked += inVault.lockedCount }
        return Set((inVault.items + inNamespace.items).map(\.name)).sorted()
    }

    /// Saves every item of an export, after the whole file was verified. Each item may take as long as a call.
    ///
    /// - Parameter isReplacing: whether an item that is there is replaced.
    /// - Throws: ``Status/denied`` for a wrong passphrase, ``Status/corrupt`` for a file that was changed, and
    ///   ``Status/policy`` where an item demands what this vault does not give: then nothing was saved. An error at a later
    ///   item, or ``Status/corrupt`` if the file changes meanwhile: then the items before it were saved.
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

    /// Reads the whole file. Saves nothing.
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
                // Thrown after the last frame: a damaged file is CORRUPT whatever its items demand.
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

    /// An error that ended an import, with what was saved before it.
    ///
    /// - Parameter name: the item that was not saved; nil if the file could not be read on.
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

    /// The password that one item needs is asked for once, and then granted to those after it.
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
