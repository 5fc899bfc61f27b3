public import TokenKeepCore

/// Told how many records of how many are sealed anew.
public typealias RekeyingProgress = (_ done: Int, _ total: Int) -> Void

extension Vault {
    /// How long another process may hold one item that is to be destroyed, in milliseconds.
    private static let patience: UInt32 = 5000

    /// Gives the vault its first password. Every key that the keyfile ever opened is replaced: a backup from before opens
    /// nothing that is saved later.
    ///
    /// After a kill ``unlock(_:)`` and ``finishRekeying(_:_:progress:)`` go on; no reader misses an item meanwhile.
    ///
    /// - Throws: ``Status/invalid`` where it has one already.
    public func setPassword(
        _ password: SecretBytes, _ call: CallContext, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> Unlocking {
        try PasswordDerivation.check(password)
        let opened = try openOrMake(call)
        let header = opened.keys.header
        guard header.slots(of: .password).isEmpty else {
            throw TokenKeepError(
                .invalid, "the vault has a password already", module: "vault", hint: "tokenkeep password change")
        }
        try Vault.checkReplaceable(header)
        let old = try currentKeys(of: opened.keys)
        let new = try NewVault.keys(for: NewVault.purposes + [.presence], in: arena)
        let retiring = KnownSlot.wrapping(
            old.map(\.retiring), type: .keyfile, derivation: .subkey, with: try keyfileWrapping(opened),
            vaultID: header.vaultID)
        let slots =
            header.slots(but: [.keyfile, .recovery]) + [.known(retiring), try passwordSlot(new, password, opened.keys)]
        return try rekey(opened, slots: slots, old: old, new: new, call, progress: progress)
    }

    /// Replaces the password.
    ///
    /// - Parameter isCompromised: whether somebody else may know the old one: every key that it ever opened is replaced, and
    ///   the recovery code ends.
    public func changePassword(
        from old: SecretBytes, to new: SecretBytes, isCompromised: Bool, _ call: CallContext,
        progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> Unlocking {
        try PasswordDerivation.check(new)
        let (opened, entries) = try openedForChange(
            with: old, mayLeaveOldKeys: !isCompromised, call, progress: progress)
        let header = opened.keys.header
        guard isCompromised else {
            let slots = header.slots(but: [.password]) + [try passwordSlot(entries, new, opened.keys)]
            return keep(entries, of: try replaceHeader(of: opened, slots: slots, call))
        }
        try Vault.checkReplaceable(header)
        // Readers need the old keys until the last record is sealed under others.
        _ = keep(entries, of: opened)
        let made = try NewVault.keys(for: NewVault.purposes + [.presence], in: arena)
        let slot = try passwordSlot(made + entries.map(\.retiring), new, opened.keys)
        let slots = header.slots(but: [.password, .recovery]) + [slot]
        return try rekey(opened, slots: slots, old: entries, new: made, call, progress: progress)
    }

    /// Takes the password away: the keyfile opens everything again, under new keys.
    ///
    /// - Parameter isDestroying: whether items that cannot be kept without one are destroyed.
    /// - Returns: how many records no key opens: they stay as they are.
    /// - Throws: ``Status/policy`` where there are such items.
    @discardableResult
    public func removePassword(
        _ password: SecretBytes, isDestroying: Bool, _ call: CallContext, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> Int {
        let (opened, entries) = try openedForChange(with: password, call, progress: progress)
        let header = opened.keys.header
        try Vault.checkReplaceable(header)
        let new = try NewVault.keys(for: NewVault.purposes, in: arena)
        let current = KnownSlot.wrapping(
            new, type: .keyfile, derivation: .subkey, with: try keyfileWrapping(opened), vaultID: header.vaultID)
        let retiring = try passwordSlot(entries.map(\.retiring), password, opened.keys)
        let slots = header.slots(but: [.keyfile, .password, .recovery]) + [.known(current), retiring]
        _ = keep(entries, of: opened)
        if isDestroying {
            try destroyProtected(opened, entries, call)
            try destroyProtectedElsewhere(opened, call)
        }
        let unlocking = try rekey(opened, slots: slots, old: entries, new: new, call, progress: progress) {
            records throws(TokenKeepError) in
            try refuseProtected(in: records, besides: try protectedElsewhere(of: opened, besides: records).count)
        }
        _ = try resident.purge(nil, of: header.vaultID)
        return unlocking.unreadable
    }

    /// Makes a recovery code, in place of the one there may be. It is shown once, and opens no item that asks at each use.
    public func createRecoveryCode(
        password: SecretBytes, _ call: CallContext, progress: RekeyingProgress? = nil
    ) throws(TokenKeepError) -> SecretBytes {
        let (opened, entries) = try openedForChange(
            with: password, mayLeaveOldKeys: true, call, progress: progress)
        let code = try RecoveryCode.make(in: arena)
        let derivation = PasswordDerivation.new()
        let wrapping = try PasswordDerivation.key(
            of: try RecoveryCode.normalized(code, in: arena), by: derivation, in: arena)
        let slot = KnownSlot.wrapping(
            entries.filter { $0.purpose != .presence }, type: .recovery, derivation: derivation, with: wrapping,
            vaultID: opened.keys.vaultID)
        let slots = opened.keys.header.slots(but: [.recovery]) + [.known(slot)]
        _ = try replaceHeader(of: opened, slots: slots, call)
        return code
    }

    /// Gives the vault another password, by its recovery code, which stays good. Items that ask at each use are lost.
    public func recover(
        code: SecretBytes, newPassword: SecretBytes, _ call: CallContext
    ) throws(TokenKeepError) -> Unlocking {
        try PasswordDerivation.check(newPassword)
        let code = try RecoveryCode.normalized(code, in: arena)
        guard let opened = try open() else { throw Vault.noRecoveryCode }
        let header = opened.keys.header
        let needed = header.slots(of: .password).flatMap(\.keys).filter { $0.purpose != .presence }
        let known = Set(header.slots(of: .recovery).flatMap(\.keys).map(\.id))
        guard !header.isRekeying || needed.allSatisfy({ known.contains($0.id) }) else {
            // The slot that goes would take keys with it that records still need.
            throw TokenKeepError(
                .unsupported, "a change of keys was interrupted, and the code does not open the older ones",
                module: "vault", hint: "finish it with the password: tokenkeep unlock")
        }
        let entries =
            try openSlot(.recovery, with: code, opened.keys) + (try NewVault.keys(for: [.presence], in: arena))
        let slots = header.slots(but: [.password]) + [try passwordSlot(entries, newPassword, opened.keys)]
        return keep(entries, of: try replaceHeader(of: opened, slots: slots, call))
    }

    // MARK: Parts

    /// The vault with every key that the password opens, after what an earlier change of keys left is done.
    ///
    /// - Parameter mayLeaveOldKeys: whether keys may stay in the header that a module out of reach still needs.
    private func openedForChange(
        with password: SecretBytes, mayLeaveOldKeys: Bool = false, _ call: CallContext, progress: RekeyingProgress?
    ) throws(TokenKeepError) -> (Opened, [KeyHierarchy.Entry]) {
        guard let opened = try open() else { throw Vault.noPassword }
        var entries = try openSlot(.password, with: password, opened.keys)
        guard opened.keys.header.isRekeying else { return (opened, entries) }
        // Readers need the keys until the last record is sealed under others.
        _ = keep(entries, of: opened)
        let finished: Opened
        do throws(TokenKeepError) {
            finished = try finishRekeying(entries, call, progress: progress).opened
        } catch {
            guard mayLeaveOldKeys, opened.keys.header.hasPassword else { throw error }
            return (opened, entries)
        }
        entries.removeAll(where: \.isRetiring)
        guard finished.keys.header.hasPassword else { throw Vault.noPassword }
        return (finished, entries)
    }

    private func passwordSlot(
        _ entries: [KeyHierarchy.Entry], _ password: SecretBytes, _ keys: KeyHierarchy
    ) throws(TokenKeepError) -> Slot {
        let derivation = PasswordDerivation.new()
        let wrapping = try PasswordDerivation.key(of: password, by: derivation, in: arena)
        return .known(
            .wrapping(entries, type: .password, derivation: derivation, with: wrapping, vaultID: keys.vaultID))
    }

    private func keyfileWrapping(_ opened: Opened) throws(TokenKeepError) -> SecretBytes {
        guard let keyfile = try KeyCache.readKeyfile(of: opened.directory, in: arena) else {
            throw TokenKeepError(.corrupt, "the vault has lost its keyfile", module: "vault")
        }
        return try Subkey.keyfileWrapping(of: keyfile.key, in: arena)
    }

    private func currentKeys(of keys: KeyHierarchy) throws(TokenKeepError) -> [KeyHierarchy.Entry] {
        var entries: [KeyHierarchy.Entry] = []
        for purpose in NewVault.purposes {
            do throws(FormatFault) {
                entries.append(try keys.currentKey(for: purpose))
            } catch {
                throw error.error(in: "header")
            }
        }
        return entries
    }

    private func refuseProtected(
        in records: OwnedDescriptor, besides elsewhere: Int
    ) throws(TokenKeepError) {
        var count = elsewhere
        try prefixes(in: records) { if !$0.flags.isDisjoint(with: .demands) { count += 1 } }
        guard count == 0 else {
            throw TokenKeepError(
                .policy,
                "\(count == 1 ? "1 item demands" : "\(count) items demand") protection that only a password gives",
                module: "vault", hint: "clear them first, or have them destroyed: --destroy-items")
        }
    }

    /// Clears what cannot be kept without a password. What modules hold of it they are owed to lose.
    ///
    /// - Throws: before the first item goes, where one cannot be named and owes something.
    private func destroyProtected(
        _ opened: Opened, _ entries: [KeyHierarchy.Entry], _ call: CallContext
    ) throws(TokenKeepError) {
        let records = try records(of: opened.directory)
        var protected: Set<[UInt8]> = []
        try prefixes(in: records) { if !$0.flags.isDisjoint(with: .demands) { protected.insert($0.name) } }
        guard !protected.isEmpty else { return }
        let keys = opened.keys.opened(with: entries)
        let listing = try allItems(of: Opened(directory: opened.directory, keys: keys), call)
        let named = listing.items.filter { protected.contains(keys.fileName(of: $0.name)) }
        let nameless = protected.subtracting(named.map { keys.fileName(of: $0.name) })
        for name in nameless { try checkOwesNothing(name, Opened(directory: opened.directory, keys: keys), records) }
        for item in named {
            try destroy(item.name, call.until(Deadline(milliseconds: Vault.patience)))
        }
        for name in nameless {
            let lock = try VaultLock(
                .item(name: name), of: opened.directory, call.until(Deadline(milliseconds: Vault.patience)))
            defer { lock.release() }
            try VaultFiles.setAside(RecordNames.fileName(name), in: records)
            try VaultFiles.remove(RecordNames.fileName(name), in: records)
        }
    }

    private func destroy(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        do throws(TokenKeepError) {
            _ = try change(name, call) { entry, keys throws(TokenKeepError) in VaultModule.clearing(entry, keys) }
        } catch {
            throw TokenKeepError(
                error.status, "\(name) is not destroyed: \(error.message)", module: error.module, hint: error.hint)
        }
    }

    /// What no key opens can be set aside without its name, but for one that a module must lose too.
    private func checkOwesNothing(
        _ name: [UInt8], _ opened: Opened, _ records: OwnedDescriptor
    ) throws(TokenKeepError) {
        var opened = opened
        let reader = RecordReader(vault: self, records: records, fileName: name)
        guard case .success(false) = try reader.read(&opened, { _, state throws(FormatFault) in state.debts.isEmpty })
        else { return }
        throw TokenKeepError(
            .corrupt, "records/\(RecordNames.fileName(name)) cannot be opened, and is owed to a module",
            module: "vault",
            hint: "clear the item by its name first: tokenkeep clear")
    }
}
