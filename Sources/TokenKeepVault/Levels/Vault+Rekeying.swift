public import TokenKeepCore

extension Vault {
    /// How long one record may be held by another process while it waits to be sealed anew, in milliseconds.
    private static let patience: UInt32 = 5000

    /// Replaces keys: writes a header with the new ones and the old ones, then seals every record anew, then takes the old
    /// keys out of the header.
    ///
    /// The new keys are where readers find them before a header names them, so that none is locked out meanwhile.
    func rekey(
        _ opened: Opened, slots: [Slot], old: [KeyHierarchy.Entry], new: [KeyHierarchy.Entry], _ call: CallContext,
        progress: RekeyingProgress?, check: (OwnedDescriptor) throws(TokenKeepError) -> Void = { _ in }
    ) throws(TokenKeepError) -> Unlocking {
        guard opened.keys.header.slots(of: .device).isEmpty else {
            throw TokenKeepError(
                .unsupported, "the vault has keys of a device, which this version cannot replace", module: "vault",
                hint: "upgrade TokenKeep")
        }
        let hasPassword = new.contains { $0.purpose == .presence }
        let vaultID = opened.keys.vaultID
        if hasPassword { resident.keep(new, of: vaultID) }
        do throws(TokenKeepError) {
            _ = try replaceHeader(of: opened, slots: slots, call, check: check)
        } catch {
            for entry in new { resident.drop(entry.id, for: entry.purpose, of: vaultID) }
            throw error
        }
        let entries = new + old.map(\.retiring)
        let finished = try finishRekeying(entries, call, progress: progress)
        return Unlocking(
            reasonForMemory: hasPassword ? resident.reasonForMemory : nil, presence: Vault.grant(new),
            isRekeying: finished.keys.header.isRekeying, entries: new)
    }

    /// Goes on with a change of keys that was cut short.
    public func finishRekeying(
        _ unlocking: Unlocking, _ call: CallContext, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) {
        _ = try finishRekeying(unlocking.entries, call, progress: progress)
    }

    /// Seals every record anew that is sealed under a key that is being replaced, and takes those keys out of the header.
    ///
    /// - Throws: what keeps a record from being sealed anew. The keys stay as long as one record needs them.
    func finishRekeying(
        _ entries: [KeyHierarchy.Entry], _ call: CallContext, progress: RekeyingProgress?
    ) throws(TokenKeepError) -> Opened {
        guard let opened = try open() else { throw Vault.noPassword }
        guard opened.keys.header.isRekeying else { return opened }
        let keys = opened.keys.opened(with: entries)
        let retiring = Set(keys.header.slots.flatMap(\.keys).filter(\.isRetiring).map(\.id))
        let records = try records(of: opened.directory)
        let names = try RecordNames.all(in: records)
        for (index, name) in names.enumerated() {
            progress?(index, names.count)
            guard !call.deadline.hasPassed else {
                throw TokenKeepError(
                    .timedOut, "the deadline passed before every record was sealed anew", module: "vault",
                    hint: "tokenkeep unlock goes on")
            }
            try sealAnew(
                name, of: Opened(directory: opened.directory, keys: keys), in: records, retiring, call, entries)
        }
        if !names.isEmpty { progress?(names.count, names.count) }
        let finished = try replaceHeader(of: opened, slots: keys.header.slotsWithoutRetiringKeys, call) {
            records throws(TokenKeepError) in
            try prefixes(in: records) { prefix throws(TokenKeepError) in
                guard !retiring.contains(prefix.classKeyID), !retiring.contains(prefix.metadataKeyID) else {
                    throw TokenKeepError(
                        .conflict, "a record under an old key came back while the keys were replaced", module: "vault",
                        hint: "tokenkeep unlock goes on")
                }
            }
        }
        for key in keys.header.slots.flatMap(\.keys) where key.isRetiring {
            resident.drop(key.id, for: key.purpose, of: keys.vaultID)
        }
        return finished
    }

    private func sealAnew(
        _ name: [UInt8], of opened: Opened, in records: OwnedDescriptor, _ retiring: Set<UInt64>, _ call: CallContext,
        _ entries: [KeyHierarchy.Entry]
    ) throws(TokenKeepError) {
        let lock = try VaultLock(
            .item(name: name), of: opened.directory, call.until(Deadline(milliseconds: Vault.patience)))
        defer { lock.release() }
        let shown = RecordNames.fileName(name)
        guard let bytes = try VaultFiles.read(shown, in: records, atMost: RecordPrefix.maximumFile) else { return }
        let sealed: [UInt8]
        do throws(FormatFault) {
            let file = try RecordFile(bytes, name: name, keys: opened.keys)
            guard retiring.contains(file.prefix.classKeyID) || retiring.contains(file.prefix.metadataKeyID) else {
                return
            }
            let grant = Vault.grant(entries)
            let item = try file.openItem(in: arena, grant)
            sealed = try RecordSealing.value(
                try file.openMetadata(in: arena), secret: item.secret, state: try file.openState(in: arena),
                keys: opened.keys, presence: grant, in: arena)
        } catch {
            throw error.error(in: "records/\(shown)")
        }
        try sealed.lent { bytes throws(TokenKeepError) in try VaultFiles.replace(shown, in: records, with: bytes) }
    }
}
