package import TokenKeepCore
package import TokenKeepKeys

/// The encrypted records of a vault, one file per item. Made on the first write; until then every item is absent.
///
/// Safe from any thread. Readers take no lock: a record is replaced by one rename, so they see the old or the new one.
package final class Records: Sendable {
    package let opener: VaultOpener
    /// The machine whose pending writes this process drains.
    package let machine: MachineID
    /// The header that the records were last held against.
    private let testified = Guarded<[UInt8]?>(nil)
    /// The vault as it was when it last had nothing pending.
    let quiet = Guarded<QuietVault?>(nil)

    /// The records of a vault. Touches nothing yet.
    package init(_ opener: VaultOpener, machine: MachineID = .current) {
        self.opener = opener
        self.machine = machine
    }

    /// The vault; nil if none was made.
    ///
    /// Without a password, the records testify before the first use: whoever has the keyfile can make such a header.
    package func open() throws(TokenKeepError) -> OpenVault? {
        guard let vault = try opener.open() else { return nil }
        if !vault.keys.header.hasPassword { try testify(vault) }
        return vault
    }

    /// The vault, made if there is none. Its records have testified: nothing is written for another header.
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

    /// Refuses a header that was not made for the records; see ``Testimony``.
    package func testify(_ vault: OpenVault) throws(TokenKeepError) {
        if testified.withLock({ $0 }) == vault.headerFile { return }
        // An unlock verified this very header: records prove nothing against it.
        if try !opener.isVerified(vault) { try Testimony.check(vault) }
        testified.withLock { $0 = vault.headerFile }
    }

    /// Whether there is a vault.
    package func exists() throws(TokenKeepError) -> Bool { try open() != nil }

    /// The hash of a machine's id, as pending writes and notes hold it; empty if there is no vault that can be read.
    package func hash(of machine: MachineID) -> [UInt8] {
        (try? opener.open())?.keys.journal.machine(machine.bytes) ?? []
    }

    /// A keyed fingerprint of a value; nil if there is no vault that can be read.
    package func fingerprint(of secret: SecretBytes) -> [UInt8]? {
        (try? open())?.keys.journal.fingerprint(of: secret)
    }

    /// The key of item versions; nil if there is no vault that can be read.
    package func versionKey() -> ItemVersionKey? { (try? open())?.keys.journal.versions }

    /// The item's record; nil if there is none. Takes no lock.
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

    /// Reads an item's record and opens the parts that `body` asks for; nil if there is none.
    private func read<Value>(
        _ name: ItemName, _ body: (RecordFile, StateFields) throws(FormatFault) -> Value
    ) throws(TokenKeepError) -> Value? {
        guard var vault = try open() else { return nil }
        while true {
            let era = vault.era.number
            let reader = RecordReader(records: self, fileName: vault.keys.fileName(of: name))
            switch try reader.read(&vault, body) {
            case .success(let value): return value
            case .failure(let fault): throw reader.error(fault)
            case nil:
                // The record's name is another one in each era.
                guard let present = try open() else { return nil }
                guard present.era.number != era else { return nil }
                vault = present
            }
        }
    }

    /// Notifies watchers that an item of another module has changed. Without a vault nobody watches.
    package func announceChange() {
        guard let path = try? opener.path(), let directory = try? VaultDirectory.open(path) else { return }
        ChangeSignal.send(in: directory)
    }
}
