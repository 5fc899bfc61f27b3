package import TokenKeepCore
package import TokenKeepKeys

/// The encrypted records of a vault, one file per item. The first write makes the vault; before it every item is
/// absent.
///
/// Safe from any thread. Readers take no lock: a record is replaced by one rename, so that a reader sees the old or the
/// new record.
package final class Records: Sendable {
    package let opener: VaultOpener
    /// The machine whose pending writes this process drains.
    package let machine: MachineID
    /// The header that was last checked against the records.
    private let testified = MutexGuarded<[UInt8]?>(nil)
    /// The vault in its last observed state without pending writes; nil if none was observed.
    let quiet = MutexGuarded<QuietVault?>(nil)

    /// Prepares access to the records of a vault. Touches no file yet.
    package init(_ opener: VaultOpener, machine: MachineID = .current) {
        self.opener = opener
        self.machine = machine
    }

    /// Opens the vault; nil if no vault was made.
    ///
    /// Without a password, the header is checked against the records before the first use: anyone with the keyfile can
    /// forge such a header.
    package func open() throws(TokenKeepError) -> OpenVault? {
        guard let vault = try opener.open() else { return nil }
        if !vault.keys.header.hasPassword { try testify(vault) }
        return vault
    }

    /// Opens the vault, and makes it if there is none. The header is checked against the records before anything is
    /// written.
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

    /// Opens a vault again that was open a moment ago. A changed header is checked like any other.
    func reopen(_ vault: OpenVault, _ call: CallContext) throws(TokenKeepError) -> OpenVault {
        if let present = try open(), present.headerFile == vault.headerFile { return present }
        return try openOrMake(call)
    }

    /// Refuses a header that does not belong to the records; see ``HeaderTestimony``.
    package func testify(_ vault: OpenVault) throws(TokenKeepError) {
        if testified.withLock({ $0 }) == vault.headerFile { return }
        // An unlock verified this very header: records prove nothing against it.
        if try !opener.isVerified(vault) { try HeaderTestimony.check(vault) }
        testified.withLock { $0 = vault.headerFile }
    }

    /// Whether a vault was made.
    package func exists() throws(TokenKeepError) -> Bool { try open() != nil }

    /// The hash of a machine's id, as stored in pending writes and notes; empty if no vault can be read.
    package func hash(of machine: MachineID) -> [UInt8] {
        (try? opener.open())?.keys.journal.machine(machine.bytes) ?? []
    }

    /// A keyed fingerprint of a value; nil if no vault can be read.
    package func fingerprint(of secret: SecretBytes) -> [UInt8]? {
        (try? open())?.keys.journal.fingerprint(of: secret)
    }

    /// The secret key for hashing items to versions; nil if no vault can be read.
    package func versionKey() -> ItemVersionKey? { (try? open())?.keys.journal.versions }

    /// The item's record; nil if there is no record. Takes no lock.
    package func record(of name: ItemName, _ call: CallContext) throws(TokenKeepError) -> JournalRecord? {
        do throws(TokenKeepError) {
            return try read(name) { file, state throws(FormatFault) in try file.journalRecord(state, call.presence) }
        } catch {
            throw error.of(name)
        }
    }

    /// The item with its secret; nil if its record has no value.
    package func item(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem? {
        let found: TokenItem?? = try read(name) { file, state throws(FormatFault) in
            state.state == .tombstone ? nil : try file.openItem(call.presence)
        }
        return found ?? nil
    }

    /// The item without its secret; nil if its record has no value.
    package func details(of name: ItemName) throws(TokenKeepError) -> ItemDetails? {
        let found: ItemDetails?? = try read(name) { file, state throws(FormatFault) in
            state.state == .tombstone ? nil : try file.openMetadata().details
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
                // The record's file name differs in each era.
                guard let present = try open() else { return nil }
                guard present.era.number != era else { return nil }
                vault = present
            }
        }
    }

    /// Notifies watchers that anything may have changed, or that an item of another module has. Without a vault there
    /// are no watchers.
    package func announceChange(of name: ItemName? = nil) {
        let event = name.flatMap { try? open()?.keys.fileName(of: $0) }.map(ChangeEvent.changed) ?? .anything
        guard let path = try? opener.path(), let directory = try? VaultDirectory.open(path) else { return }
        (try? ChangeLog(directory))?.announce(event)
    }

    /// The name of the item whose record has a file name; nil if there is no such record, or if it does not say.
    ///
    /// - Throws: the reason why the record cannot be read.
    package func itemName(ofRecord fileName: [UInt8]) throws(TokenKeepError) -> ItemName? {
        guard var vault = try open() else { return nil }
        let reader = RecordReader(records: self, fileName: fileName)
        let found = try reader.read(&vault) { file, state throws(FormatFault) in
            state.state == .tombstone ? state.name : try file.openMetadata().details.name
        }
        switch found {
        case .success(let name): return name
        case .failure(let fault): throw reader.error(fault)
        case nil: return nil
        }
    }

    /// The function that gives the file name of an item's record in the present era; nil without a vault.
    package func fileNames() throws(TokenKeepError) -> ((ItemName) -> [UInt8])? {
        try open().map { vault in { vault.keys.fileName(of: $0) } }
    }
}
