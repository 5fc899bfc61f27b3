public import TokenKeepCore

extension Vault {
    /// The vault's items of every namespace, those that are owed to modules too; and how many cannot be listed because
    /// they are locked.
    public func everyItem(
        _ call: CallContext
    ) throws(TokenKeepError) -> (items: [ItemDetails], lockedCount: Int, problems: [TokenKeepError]) {
        let listing = try allItems(call)
        var locked = 0
        if listing.problems.contains(where: { $0.status == .locked }), let opened = try open() {
            try prefixes(in: records(of: opened.directory)) { if $0.level != nil { locked += 1 } }
            locked -= listing.items.count
        }
        return (listing.items, locked, listing.problems)
    }

    /// Every item of the vault, without its secret, and what could not be read.
    ///
    /// - Throws: ``Status/timedOut`` where the deadline passes first, ``Status/cancelled``.
    func allItems(_ call: CallContext) throws(TokenKeepError) -> ItemListing {
        guard let opened = try open() else { return ItemListing() }
        return try allItems(of: opened, call)
    }

    /// The same of a vault with more keys open.
    func allItems(of opened: Opened, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        var opened = opened
        let records = try records(of: opened.directory)
        var listing = ItemListing()
        var unreadable = 0
        for name in try RecordNames.all(in: records) {
            guard !call.deadline.hasPassed else {
                throw call.deadline.failure(
                    "the deadline passed after \(listing.items.count) items were read", module: "vault",
                    hint: "allow more time")
            }
            let reader = RecordReader(vault: self, records: records, fileName: name)
            let found = try reader.read(&opened) { file, state throws(FormatFault) in
                state.state == .tombstone ? nil : try file.openMetadata(in: arena).details
            }
            switch found {
            case nil, .success(nil): continue  // cleared, perhaps only just
            case .success(let details?): listing.items.append(details)
            case .failure(let fault):
                unreadable += 1
                listing.count(reader.error(fault))
            }
        }
        guard let problem = listing.problem, unreadable > 1 else { return listing }
        var whole = ItemListing(
            items: listing.items,
            problem: TokenKeepError(
                problem.status, "\(problem.message) (and \(unreadable - 1) more)", module: problem.module,
                hint: problem.hint))
        for problem in listing.problems { whole.count(problem) }
        return whole
    }
}
