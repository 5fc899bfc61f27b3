package import TokenKeepCore
package import TokenKeepKeys

/// The encrypted records of a vault, one file for each item. The first write makes the vault.
///
/// Any thread may use this object. Readers take no lock: a record is replaced by one rename, so a reader sees either
/// the old or the new record.
package final class Records: Sendable {
    package let opener: VaultOpener
    /// The machine on which this process runs. The process applies only this machine's pending writes.
    package let machine: MachineID
    /// The bytes of the header (the file of encrypted keys) that was last found to belong to the records; nil before
    /// the first check.
    private let testified = MutexGuarded<[UInt8]?>(nil)
    /// The observation that nothing was pending, so that loads need not list a directory; nil if a change may be
    /// pending.
    let quiet = MutexGuarded<QuietVault?>(nil)

    /// The pending changes of the vault's records, and notes about other modules.
    package var journal: VaultJournal { VaultJournal(records: self) }

    /// Prepares access to the records of a vault. Opens no file.
    package init(_ opener: VaultOpener, machine: MachineID = .current) {
        self.opener = opener
        self.machine = machine
    }

    /// Opens the vault; nil if there is no vault.
    ///
    /// The header (the file of encrypted keys) of a vault without a password is checked against the records first,
    /// because anyone with the keyfile could have forged the header.
    package func open() throws(TokenKeepError) -> OpenVault? {
        guard let vault = try opener.open() else { return nil }
        if !vault.keys.header.hasPassword { try testify(vault) }
        return vault
    }

    /// Opens the vault for a caller who will verify its header with the password; nil if there is no vault.
    ///
    /// See ``VaultOpener/openToUnlock()``.
    package func openToUnlock() throws(TokenKeepError) -> OpenVault? {
        guard let vault = try opener.openToUnlock() else { return nil }
        if !vault.keys.header.hasPassword { try testify(vault) }
        return vault
    }

    /// Opens the vault, or makes a vault if there is none.
    ///
    /// An existing header (the file of encrypted keys) is checked against the records before anything is written.
    package func openOrMake(_ call: CallContext) throws(TokenKeepError) -> OpenVault {
        if let vault = try opener.open(), try HeaderFiles.missing(in: vault.era).isEmpty {
            try testify(vault)
            return vault
        }
        try VaultMaking.make(opener, call)
        guard let vault = try opener.open() else {
            throw TokenKeepError(.io, "the vault vanished while it was made", module: "vault")
        }
        try testify(vault)
        return vault
    }

    /// Opens the vault, or creates a vault if there is none, for a caller that writes no record. A missing copy of the
    /// header is made only by the next save of an item.
    ///
    /// An existing header (file of encrypted keys) is checked against the records before anything is written.
    func openOrMakeForSessions(_ call: CallContext) throws(TokenKeepError) -> OpenVault {
        guard let vault = try opener.open() else { return try openOrMake(call) }
        try testify(vault)
        return vault
    }

    /// Opens a vault again. If the vault's header (the file of encrypted keys) has changed, checks the header against
    /// the records.
    func reopen(_ vault: OpenVault, _ call: CallContext) throws(TokenKeepError) -> OpenVault {
        if let present = try open(), present.headerFile == vault.headerFile { return present }
        return try openOrMake(call)
    }

    /// Throws if the vault's header does not belong to the vault's records. See ``HeaderTestimony``.
    package func testify(_ vault: OpenVault) throws(TokenKeepError) {
        if testified.withLock({ $0 }) == vault.headerFile { return }
        // A header that an unlock has verified with the password needs no comparison with the records.
        if try !opener.isVerified(vault) { try HeaderTestimony.check(vault) }
        testified.withLock { $0 = vault.headerFile }
    }

    /// Checks whether a vault can be made at the configured path. Changes nothing.
    ///
    /// - Throws: the error that the first save would throw.
    package func checkMaking() throws(TokenKeepError) { try VaultDirectory.checkMaking(try opener.path()) }

    /// Whether there is a vault.
    package func exists() throws(TokenKeepError) -> Bool { try open() != nil }

    /// The hash of a machine's id, as stored in records; empty if no vault can be read.
    package func hash(of machine: MachineID) -> [UInt8] {
        (try? opener.open())?.keys.journal.machine(machine.bytes) ?? []
    }

    /// The keyed fingerprint of a secret; nil if no vault can be read.
    package func fingerprint(of secret: SecretBytes) -> [UInt8]? {
        (try? open())?.keys.journal.fingerprint(of: secret)
    }

    /// The key that computes item versions; nil if no vault can be read.
    package func versionKey() -> ItemVersionKey? { (try? open())?.keys.journal.versions }

    /// Reads an item's record without a lock; nil if the item has neither a value nor pending changes.
    package func record(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        do throws(TokenKeepError) {
            let record = try read(name) { file, state throws(FormatFault) in
                try file.journalRecord(state, call.presence)
            }
            return record?.isEmpty == true ? nil : record
        } catch {
            throw error.of(name)
        }
    }

    /// Reads the item with its secret; nil if the item has no record or was cleared.
    package func item(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let found: TokenItem?? = try read(name) { file, _ throws(FormatFault) in
            file.holdsValue ? try file.openItem(call.presence) : nil
        }
        return found ?? nil
    }

    /// Reads the item without its secret; nil if the item has no record or was cleared.
    package func details(of name: ItemName) throws(TokenKeepError) -> ItemDetails? {
        let found: ItemDetails?? = try read(name) { file, _ throws(FormatFault) in
            file.holdsValue ? try file.openMetadata().details : nil
        }
        return found ?? nil
    }

    /// Reads an item's record and opens the parts that `body` needs; nil if there is no record.
    private func read<Value>(
        _ name: ItemName, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Value? {
        guard var vault = try open() else { return nil }
        while true {
            let era = vault.era.number
            let reader = RecordReader(records: self, fileName: vault.keys.fileName(of: name), item: name)
            switch try reader.read(&vault, body) {
            case .success(let value): return value
            case .failure(let fault): throw reader.error(fault)
            case nil:
                // If the vault's keys were replaced meanwhile, search again, because the record now has another file
                // name.
                guard let present = try open() else { return nil }
                guard present.era.number != era else { return nil }
                vault = present
            }
        }
    }

    /// Notifies the watchers of the vault that an item in another module may have changed.
    ///
    /// If `name` is nil, the watchers are told that any item may have changed. Does nothing without a vault.
    package func announceChange(of name: ItemName? = nil) {
        let event = name.flatMap { try? open()?.keys.fileName(of: $0) }.map(ChangeEvent.changed) ?? .anything
        guard let path = try? opener.path(), let directory = try? VaultDirectory.open(path) else { return }
        (try? ChangeLog(directory))?.announce(event)
    }

    /// The name of the item whose record has this file name; nil if the record is missing or contains no name.
    package func itemName(ofRecord fileName: [UInt8]) throws(TokenKeepError) -> ItemName? {
        guard var vault = try open() else { return nil }
        let reader = RecordReader(records: self, fileName: fileName)
        let found = try reader.read(&vault) { file, state throws(FormatFault) in
            file.holdsValue ? try file.openMetadata().details.name : state.name
        }
        switch found {
        case .success(let name): return name
        case .failure(let fault): throw reader.error(fault)
        case nil: return nil
        }
    }

    /// Returns a function that computes the file name of an item's record, as 16 bytes; nil without a vault.
    package func fileNames() throws(TokenKeepError) -> ((ItemName) -> [UInt8])? {
        try open().map { vault in { vault.keys.fileName(of: $0) } }
    }
}
