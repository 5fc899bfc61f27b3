import TokenKeepCore

extension Vault {
    /// Every item of the vault, without its secret, and what could not be read.
    ///
    /// - Throws: ``Status/timedOut`` where the deadline passes first.
    func allItems(_ call: CallContext) throws(TokenKeepError) -> ItemListing {
        guard var opened = try open() else { return ItemListing() }
        guard let records = try opened.directory.openRecords() else { throw Vault.recordsMissing(opened.directory) }
        var listing = ItemListing()
        var unreadable = 0
        for name in try RecordNames.all(in: records) {
            guard !call.deadline.hasPassed else {
                throw TokenKeepError(
                    .timedOut, "the deadline passed after \(listing.items.count) items were read", module: "vault",
                    hint: "allow more time")
            }
            do throws(TokenKeepError) {
                let file = RecordNames.fileName(name)
                // A record that is gone by now was cleared meanwhile.
                guard let bytes = try VaultFiles.read(file, in: records, atMost: RecordPrefix.maximumFile) else {
                    continue
                }
                let details = try open(bytes, fileName: name, &opened) { file, state throws(FormatFault) in
                    state.state == .tombstone ? nil : try file.openMetadata(in: arena).details
                }
                if let details { listing.items.append(details) }
            } catch {
                unreadable += 1
                listing.problem = listing.problem ?? error
            }
        }
        if let problem = listing.problem, unreadable > 1 {
            listing.problem = TokenKeepError(
                problem.status, "\(problem.message) (and \(unreadable - 1) more)", module: problem.module,
                hint: problem.hint)
        }
        return listing
    }
}
