package import TokenKeepCore
package import TokenKeepKeys

extension Records {
    /// Lists the items of all namespaces in the vault, including items with pending writes, and counts the locked
    /// items.
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

    /// Lists every item of the vault, without secrets. The listing contains the errors of unreadable items.
    ///
    /// - Throws: ``Status/timedOut`` if the deadline passes before the end; ``Status/cancelled`` if the call is
    ///   cancelled.
    func allItems(_ call: CallContext) throws(TokenKeepError) -> ItemListing {
        while true {
            guard let vault = try open() else { return ItemListing() }
            let listing = try allItems(of: vault, call)
            // If the vault's keys were replaced meanwhile, list again, because the records now have other file names.
            guard try open()?.era.number != vault.era.number else { return listing }
        }
    }

    /// Lists every item of an open vault that the open keys of `vault` can read.
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

    /// Calls `body` with the unencrypted prefix of each record. Needs no key, and skips unreadable prefixes.
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
    /// A copy in which the message of the first error also contains the number of unreadable records.
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
    /// How many records of each kind a vault has.
    package struct Census: Sendable {
        /// The number of records with a value of an item.
        package fileprivate(set) var items = 0
        /// The number of records without a value whose item the vault sealed for other modules.
        package fileprivate(set) var sealed = 0
        /// The number of unreadable records, including those that were set aside.
        package fileprivate(set) var unreadable = 0
        /// The number of files in the directory of records whose names are not those of records. No call reads such
        /// files.
        package fileprivate(set) var misnamed = 0
    }

    /// Counts the records of a vault. Needs no password, because the keyfile opens the parts that are read.
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
