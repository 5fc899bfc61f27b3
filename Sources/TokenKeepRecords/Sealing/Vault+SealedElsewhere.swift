import SystemPackage
package import TokenKeepCore

/// An item that a module may hold under a key that is being replaced.
struct SealedElsewhere {
    let name: ItemName
    let module: String
    /// nil where no note, but the module itself, says so.
    let machine: [UInt8]?
    /// Whether it is another machine's, besides this one's: what is found here tells nothing of it.
    var isOnlyThere = false
}

extension Vault {
    /// How long another process may hold an item that is to be cleared, in milliseconds.
    private static let patience: UInt32 = 5000

    /// Reaches what the vault sealed for other modules by `provider` from now on.
    package func reachSealedItems(_ provider: @escaping SealedPlacesProvider) {
        sealedPlaces.withLock { $0 = provider }
    }

    /// What is known of an item that other modules may hold sealed: its level and flags; nil where it is not noted.
    ///
    /// - Throws: where its note cannot be read: what it demands is not known, and must not be taken for nothing.
    package func sealedDetails(of name: ItemName) throws(TokenKeepError) -> ItemDetails? {
        guard let opened = try open(), let note = try SealedNotes(opened, in: arena).note(of: name) else { return nil }
        return ItemDetails(
            name: name, label: name.defaultLabel, accessLevel: note.level, flags: note.flags, module: "vault")
    }

    /// What other modules may hold under keys that are being replaced: what is noted, and what they tell of besides.
    ///
    /// - Throws: where a note cannot be read.
    func sealedElsewhere(of opened: Opened, _ call: CallContext) throws(TokenKeepError) -> [SealedElsewhere] {
        let notes = try SealedNotes(opened, in: arena).all()
        var found: [SealedElsewhere] = []
        for note in notes {
            let current = opened.keys.currentKeyID(for: .level(note.level)).map { [$0] }
            for holder in note.holders where holder.keyIDs != current {
                let isOnlyThere =
                    holder.machine != MachineID.current.bytes && note.index(of: holder.module, .current) != nil
                found.append(
                    SealedElsewhere(
                        name: note.name, module: holder.module, machine: holder.machine, isOnlyThere: isOnlyThere))
            }
        }
        // Without a password nothing was sealed.
        guard opened.keys.header.slots(of: .password).contains(where: { $0.keys.contains(where: \.isRetiring) }) else {
            return found
        }
        let noted = Set(notes.map(\.name))
        for (module, name) in sealedPlaces.withLock({ $0 })()?.sealedItems(call) ?? [] where !noted.contains(name) {
            found.append(SealedElsewhere(name: name, module: module, machine: nil))
        }
        return found
    }

    /// Seals an item anew that another module holds under a key that is being replaced.
    ///
    /// - Returns: false where no key opens it: it stays as it is.
    /// - Throws: what keeps it from being sealed anew, and may not later.
    func sealAnew(
        _ item: SealedElsewhere, of opened: Opened, _ presence: PresenceGrant, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        guard let places = sealedPlaces.withLock({ $0 })() else {
            throw TokenKeepError(
                .unavailable, "nothing here reaches \(item.name), which the vault sealed in \(item.module)",
                module: item.module, hint: "run tokenkeep unlock")
        }
        guard !item.isOnlyThere else { throw Vault.missing(item) }
        let outcome: SealedAnew
        do throws(TokenKeepError) {
            outcome = try places.sealAnew(item.name, in: item.module, call.granting(presence))
        } catch {
            guard error.status == .corrupt, error.module == "vault" else { throw error }
            return false
        }
        switch outcome {
        case .done: try noteSealed(item, of: opened, call)
        case .recorded where item.machine == nil || item.machine == MachineID.current.bytes: break
        case .recorded, .absent: throw Vault.missing(item)
        }
        return true
    }

    /// Notes that a module holds an item under the current key alone, or not sealed at all.
    private func noteSealed(
        _ item: SealedElsewhere, of opened: Opened, _ call: CallContext
    ) throws(TokenKeepError) {
        let hold = try hold(item.name, call.until(Deadline(milliseconds: Vault.patience)))
        defer { hold?.end() }
        let notes = SealedNotes(opened, in: arena)
        guard var note = try notes.note(of: item.name) else { return }
        // Whichever machine it was noted for: it is here.
        note.holders.removeAll {
            $0.module == item.module && ($0.machine == item.machine || $0.machine == MachineID.current.bytes)
        }
        note.add(item.module, .current, keyID: opened.keys.currentKeyID(for: .level(note.level)) ?? 0)
        try notes.write(note)
    }

    private static func missing(_ item: SealedElsewhere) -> TokenKeepError {
        let isHere = item.machine == nil || item.machine == MachineID.current.bytes
        return TokenKeepError(
            .unavailable,
            "\(item.name), which the vault sealed in \(item.module)\(isHere ? "" : " on another machine"), is not there",
            module: item.module,
            hint: (isHere ? "" : "run tokenkeep unlock on that machine; ")
                + "if the item is gone for good: tokenkeep clear, and tokenkeep unlock")
    }

    /// The items that other modules hold sealed and that demand what only a password gives.
    ///
    /// - Parameter records: what a record holds or has cleared is its own affair.
    func protectedElsewhere(
        of opened: Opened, besides records: OwnedDescriptor
    ) throws(TokenKeepError) -> [ItemName] {
        var recorded: Set<[UInt8]> = []
        try prefixes(in: records) { recorded.insert($0.name) }
        return try SealedNotes(opened, in: arena).all().filter {
            !$0.flags.isDisjoint(with: .demands) && !recorded.contains(opened.keys.fileName(of: $0.name))
        }.map(\.name)
    }

    /// Clears them; what is out of reach is owed the removal.
    func destroyProtectedElsewhere(_ opened: Opened, _ call: CallContext) throws(TokenKeepError) {
        for name in try protectedElsewhere(of: opened, besides: records(of: opened.directory)) {
            guard let places = sealedPlaces.withLock({ $0 })() else { continue }
            try places.clear(name, call.until(Deadline(milliseconds: Vault.patience)))
        }
    }
}
