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
        let hasPassword = new.contains { $0.purpose == .presence }
        let vaultID = opened.keys.vaultID
        if hasPassword { resident.keep(new, of: vaultID) }
        do throws(TokenKeepError) {
            _ = try replaceHeader(of: opened, slots: slots, call, check: check)
        } catch {
            // The header may be in force although not both copies were written.
            guard !mayName(new.map(\.id), opened.directory) else { throw error }
            for entry in new { resident.drop(entry.id, for: entry.purpose, of: vaultID) }
            throw error
        }
        let finished: Rekeyed
        do throws(TokenKeepError) {
            finished = try finishRekeying(new + old.map(\.retiring), call, progress: progress)
        } catch {
            throw TokenKeepError(
                error.status,
                "\(hasPassword ? "the password is set" : "the password is removed"), but not every item is sealed "
                    + "under the new keys: \(error.message)",
                module: "vault", hint: error.hint ?? "tokenkeep unlock goes on")
        }
        return Unlocking(
            reasonForMemory: hasPassword ? resident.reasonForMemory : nil, presence: Vault.grant(new),
            isRekeying: finished.opened.keys.header.isRekeying, unreadable: finished.unreadable, entries: new)
    }

    /// Refuses to replace the keys of a vault that has slots which cannot wrap the new ones.
    ///
    /// - Throws: ``Status/unsupported``.
    static func checkReplaceable(_ header: Header) throws(TokenKeepError) {
        let isForeign = header.slots.contains { slot in
            guard case .known(let known) = slot else { return true }
            return known.type == .device
        }
        guard !isForeign else {
            throw TokenKeepError(
                .unsupported,
                "the vault has keys of a device, or of a kind that this version does not know and cannot replace",
                module: "vault", hint: "use the version of TokenKeep that made them")
        }
    }

    /// Whether the header has one of the keys; also where it cannot be read.
    private func mayName(_ ids: [UInt64], _ directory: VaultDirectory) -> Bool {
        guard let keys = try? cache.keys(of: directory, fresh: true) else { return true }
        return !keys.header.keyIDs.isDisjoint(with: ids)
    }

    /// What a change of keys came to.
    struct Rekeyed {
        let opened: Opened
        /// How many records no key opens: they stay as they are.
        var unreadable = 0
    }

    /// Goes on with a change of keys that was cut short.
    ///
    /// - Returns: how many records no key opens: they stay as they are.
    @discardableResult
    public func finishRekeying(
        _ unlocking: Unlocking, _ call: CallContext, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> Int {
        try finishRekeying(unlocking.entries, call, progress: progress).unreadable
    }

    /// Seals every record anew that is sealed under a key that is being replaced, and takes those keys out of the header.
    ///
    /// A record that cannot be sealed anew keeps none of the others waiting.
    ///
    /// - Throws: what keeps a record from being sealed anew that may be readable later. The keys stay as long as one such
    ///   record needs them; a damaged one, which none of them opens, does not.
    func finishRekeying(
        _ entries: [KeyHierarchy.Entry], _ call: CallContext, progress: RekeyingProgress?
    ) throws(TokenKeepError) -> Rekeyed {
        guard let opened = try open() else { throw Vault.noPassword }
        guard opened.keys.header.isRekeying else { return Rekeyed(opened: opened) }
        let keys = opened.keys.opened(with: entries)
        let rekeying = Rekeying(
            opened: Opened(directory: opened.directory, keys: keys), records: try records(of: opened.directory),
            entries: entries)
        let unreadable = try sealAllAnew(rekeying, call, progress: progress)
        let finished = try withoutRetiringKeys(rekeying, unreadable.records, call)
        for key in keys.header.slots.flatMap(\.keys) where key.isRetiring {
            resident.drop(key.id, for: key.purpose, of: keys.vaultID)
        }
        return Rekeyed(opened: finished, unreadable: unreadable.records.count + unreadable.elsewhere)
    }

    /// What sealing records anew needs.
    private struct Rekeying {
        let opened: Opened
        let records: OwnedDescriptor
        let retiring: Set<UInt64>
        let grant: PresenceGrant

        init(opened: Opened, records: OwnedDescriptor, entries: [KeyHierarchy.Entry]) {
            self.opened = opened
            self.records = records
            retiring = Set(opened.keys.header.slots.flatMap(\.keys).filter(\.isRetiring).map(\.id))
            grant = Vault.grant(entries)
        }

        func isOld(_ prefix: RecordPrefix) -> Bool {
            retiring.contains(prefix.classKeyID) || retiring.contains(prefix.metadataKeyID)
        }
    }

    /// What no key opens: it stays as it is.
    private struct Unreadable {
        /// The records, by their names.
        var records: Set<[UInt8]> = []
        /// How many items other modules hold.
        var elsewhere = 0
    }

    private func sealAllAnew(
        _ rekeying: Rekeying, _ call: CallContext, progress: RekeyingProgress?
    ) throws(TokenKeepError) -> Unreadable {
        let names = try RecordNames.all(in: rekeying.records)
        let elsewhere = try sealedElsewhere(of: rekeying.opened, call)
        let total = names.count + elsewhere.count
        var unreadable = Unreadable()
        var obstacle: TokenKeepError?
        for step in 0..<total {
            progress?(step, total)
            guard !call.deadline.hasPassed else {
                throw TokenKeepError(
                    .timedOut, "the deadline passed before every item was sealed anew", module: "vault",
                    hint: "tokenkeep unlock goes on")
            }
            do throws(TokenKeepError) {
                if step < names.count {
                    try sealAnew(names[step], rekeying, call)
                } else if try !sealAnew(elsewhere[step - names.count], of: rekeying.opened, rekeying.grant, call) {
                    unreadable.elsewhere += 1
                }
            } catch {
                if step < names.count, error.status == .corrupt {
                    unreadable.records.insert(names[step])
                } else {
                    obstacle = obstacle ?? error
                }
            }
        }
        if total > 0 { progress?(total, total) }
        if let obstacle { throw obstacle }
        return unreadable
    }

    /// The header without the keys that were replaced. Where another process was faster, that is none's failure.
    private func withoutRetiringKeys(
        _ rekeying: Rekeying, _ unreadable: Set<[UInt8]>, _ call: CallContext
    ) throws(TokenKeepError) -> Opened {
        let opened = rekeying.opened
        do throws(TokenKeepError) {
            return try replaceHeader(of: opened, slots: opened.keys.header.slotsWithoutRetiringKeys, call) {
                records throws(TokenKeepError) in
                try prefixes(in: records) { prefix throws(TokenKeepError) in
                    guard rekeying.isOld(prefix) else { return }
                    if unreadable.contains(prefix.name), try !isReadable(prefix.name, rekeying) { return }
                    throw TokenKeepError(
                        .conflict, "a record under an old key came back while the keys were replaced", module: "vault",
                        hint: "tokenkeep unlock goes on")
                }
            }
        } catch {
            guard error.status == .conflict, let present = try open(),
                present.keys.header.keyIDs.isDisjoint(with: rekeying.retiring)
            else { throw error }
            return present
        }
    }

    private func sealAnew(_ name: [UInt8], _ rekeying: Rekeying, _ call: CallContext) throws(TokenKeepError) {
        let lock = try VaultLock(
            .item(name: name), of: rekeying.opened.directory, call.until(Deadline(milliseconds: Vault.patience)))
        defer { lock.release() }
        guard let sealed = try sealedAnew(name, rekeying) else { return }
        try sealed.lent { bytes throws(TokenKeepError) in
            try VaultFiles.replace(RecordNames.fileName(name), in: rekeying.records, with: bytes)
        }
    }

    /// Whether a record was put back that can be sealed anew.
    private func isReadable(_ name: [UInt8], _ rekeying: Rekeying) throws(TokenKeepError) -> Bool {
        do throws(TokenKeepError) {
            _ = try sealedAnew(name, rekeying)
            return true
        } catch {
            guard error.status == .corrupt else { throw error }
            return false
        }
    }

    /// The record's bytes under the current keys; nil where there is none, or it is sealed under them.
    private func sealedAnew(_ name: [UInt8], _ rekeying: Rekeying) throws(TokenKeepError) -> [UInt8]? {
        let shown = RecordNames.fileName(name)
        guard let bytes = try VaultFiles.readVersioned(shown, in: rekeying.records, atMost: RecordPrefix.maximumFile)
        else { return nil }
        let keys = rekeying.opened.keys
        do throws(FormatFault) {
            let file = try RecordFile(bytes, name: name, keys: keys)
            guard rekeying.isOld(file.prefix) else { return nil }
            let item = try file.openItem(in: arena, rekeying.grant)
            return try RecordSealing.value(
                try file.openMetadata(in: arena), secret: item.secret, state: try file.openState(in: arena),
                keys: keys, presence: rekeying.grant, in: arena)
        } catch {
            throw error.error(in: "records/\(shown)")
        }
    }
}
