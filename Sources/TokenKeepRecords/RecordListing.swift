package import TokenKeepCore
package import TokenKeepKeys

extension Records {
    /// The items of all namespaces in the vault, including items with pending writes, and the number of locked items.
    package func everyItem(
        _ call: CallContext
    ) throws(TokenKeepError) -> (items: [ItemDetails], lockedCount: Int, problems: [TokenKeepError]) {
        let listing = try allItems(call)
        var locked = 0
        if listing.problems.contains(where: { $0.status == .locked }), let vault = try open() {
            try forEachPrefix(in: vault) { if $0.level != nil { locked += 1 } }
            locked -= listing.items.count
        }
        return (listing.items, locked, listing.problems)
    }

    /// Lists every item of the vault without its secret. The errors of unreadable items are in the listing.
    ///
    /// - Throws: ``Status/timedOut`` if the deadline passes before the end, ``Status/cancelled`` if the call is
    ///   cancelled.
    func allItems(_ call: CallContext) throws(TokenKeepError) -> ItemListing {
        while true {
            guard let vault = try open() else { return ItemListing() }
            let listing = try allItems(of: vault, call)
            // If the vault's keys were replaced during the reading, list again: the records' file names have changed.
            guard try open()?.era.number != vault.era.number else { return listing }
        }
    }

    /// Lists every item of an open vault, with the keys that are open in `vault`.
    package func allItems(of vault: OpenVault, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        var vault = vault
        var listing = ItemListing()
        var unreadable = 0
        for name in try RecordNames.all(in: vault.records) {
            guard !call.deadline.hasPassed else {
                throw call.deadline.failure(
                    "the deadline passed after \(listing.items.count) items were read", module: "vault",
                    hint: "allow more time")
            }
            let reader = RecordReader(records: self, fileName: name)
            let found = try reader.read(&vault) { file, _ throws(FormatFault) in
                file.holdsValue ? try file.openMetadata().details : nil
            }
            switch found {
            case nil, .success(nil): continue  // the item was cleared, possibly just now
            case .success(let details?): listing.items.append(details)
            case .failure(let fault):
                unreadable += 1
                listing.count(reader.error(fault))
            }
        }
        return listing.counting(unreadable)
    }

    /// Calls `body` with the unencrypted prefix of each record. No key is needed. Unreadable prefixes are skipped.
    package func forEachPrefix(
        in vault: OpenVault, _ body: (RecordPrefix) throws(TokenKeepError) -> Void
    ) throws(TokenKeepError) {
        for name in try RecordNames.all(in: vault.records) {
            guard let prefix = try RecordPrefix.read(name, in: vault.records) else { continue }
            try body(prefix)
        }
    }
}

extension ItemListing {
    /// A copy in which the first problem's message contains the number of unreadable records.
    fileprivate func counting(_ unreadable: Int) -> ItemListing {
        guard let problem, unreadable > 1 else { return self }
        let count = problem.status == .locked ? "\(unreadable) items" : "and \(unreadable - 1) more"
        var whole = ItemListing(
            items: items,
            problem: TokenKeepError(
                problem.status, "\(problem.message) (\(count))", module: problem.module, hint: problem.hint))
        for problem in problems { whole.count(problem) }
        return whole
    }
}

extension Records {
    /// Counts of a vault's records.
    package struct Census: Sendable {
        /// Records with the value of an item.
        package fileprivate(set) var items = 0
        /// Records whose item the vault sealed for other modules, and does not have itself.
        package fileprivate(set) var sealed = 0
        /// Records that cannot be read, and those that were set aside.
        package fileprivate(set) var unreadable = 0
        /// Files among the records with a name that no record has: no call reads them.
        package fileprivate(set) var misnamed = 0
    }

    /// Counts the records of a vault. Needs no key but the keyfile's.
    package func census(of vault: OpenVault) throws(TokenKeepError) -> Census {
        var vault = vault
        var census = Census(unreadable: try VaultFiles.countSetAside(in: vault.records))
        census.misnamed = try RecordNames.countMisnamed(in: vault.records) - census.unreadable
        for name in try RecordNames.all(in: vault.records) {
            let found = try RecordReader(records: self, fileName: name).read(&vault) {
                file, state throws(FormatFault) in
                (holdsValue: file.holdsValue, isSealed: state.sealed != nil)
            }
            switch found {
            case nil: continue
            case .success(let record):
                if record.holdsValue { census.items += 1 } else if record.isSealed { census.sealed += 1 }
            case .failure: census.unreadable += 1
            }
        }
        return census
    }
}
