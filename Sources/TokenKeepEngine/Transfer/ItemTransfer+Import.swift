public import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// The outcome of an import: how many items were saved, and how many were kept.
public struct ImportOutcome: Sendable {
    /// The number of items that the import saved.
    public var imported = 0
    /// The number of items that existed already and were not replaced.
    public var kept = 0
}

extension ItemTransfer {
    /// Saves every item of an export file, after the whole file was verified.
    ///
    /// The store's timeout applies to each item, not to the whole import.
    ///
    /// - Parameter isReplacing: whether to replace existing items. If false, they are kept.
    /// - Throws: Before the first save: ``Status/denied`` if the passphrase is wrong; ``Status/corrupt`` if the file
    ///   was altered; ``Status/policy`` if this vault cannot meet an item's protection requirement. Later: the failure
    ///   to save an item, or ``Status/corrupt`` if the file changes during the import. Items saved before the failure
    ///   stay.
    public func `import`(
        from path: String, passphrase: SecretBytes, isReplacing: Bool = false, progress: JournalProgress? = nil
    ) throws(TokenKeepError) -> ImportOutcome {
        let call = try store.begin(.save, until: store.longDeadline)
        var outcome = ImportOutcome()
        var current: ItemName?
        do throws(TokenKeepError) {
            let file = try ExportReader(path, passphrase: passphrase, inTime(call))
            let count = try verify(file, path, call)
            var granted = call
            try file.forEachItem(call) { plaintext throws(TokenKeepError) in
                progress?(outcome.imported + outcome.kept, count)
                let item = try ItemTransfer.item(plaintext, path)
                current = item.details.name
                try save(item, isReplacing: isReplacing, &granted, &outcome)
                current = nil
            }
            progress?(count, count)
        } catch {
            throw ItemTransfer.cutShort(error, at: current, outcome)
        }
        return outcome
    }

    /// Reads the whole file, and checks every item's protection requirement. Saves nothing.
    ///
    /// - Returns: the number of items.
    private func verify(_ file: ExportReader, _ path: String, _ call: CallContext) throws(TokenKeepError) -> Int {
        var refusal: TokenKeepError?
        let count = try file.forEachItem(call) { plaintext throws(TokenKeepError) in
            let item = try ItemTransfer.item(plaintext, path)
            guard refusal == nil else { return }
            do throws(TokenKeepError) {
                try checkRequirements(of: item.details)
            } catch {
                // This refusal is thrown after the whole file was read, so that a damaged file is reported as CORRUPT.
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

    /// The error of an interrupted import, with the number of items saved and kept before.
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

    /// Saves one item. A password that the user enters for one item is also used for the following items.
    private func save(_ item: TokenItem, isReplacing: Bool, _ call: inout CallContext) throws(TokenKeepError) {
        let details = item.details
        var request = try SaveRequest(
            name: details.name, secret: item.secret, accessLevel: details.accessLevel, flags: details.flags,
            label: details.label, attributes: details.attributes, expiresAt: details.expiresAt,
            precondition: isReplacing ? .none : .absent)
        request.inherited = details
        var granted = call
        _ = try store.unlocking.retrying(call, for: details.name) { call throws(TokenKeepError) in
            granted = call
            return try store.reconciler.save(request, inTime(call))
        }
        call = granted
    }

    private func checkRequirements(of details: ItemDetails) throws(TokenKeepError) {
        guard !details.flags.isDisjoint(with: .requirements) else { return }
        try store.protection(of: details.accessLevel, details.flags).checkRequirements(of: details)
    }
}
