import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// Wraps a module that may miss changes because it is sometimes unavailable, such as the Secret Service.
///
/// The vault keeps the missed changes and applies them later.
///
/// The vault marks the module as used on this machine before the first write to the module, and as soon as the module
/// returns an item or fails with an error other than absence. An absent module without the mark counts as empty. An
/// absent module with the mark counts as unavailable, because it may have items.
///
/// Every call leaves part of its time to later modules of the stack.
struct DeferrableModule: ModuleWrapper, RememberingModule {
    let base: any Module
    let records: Records
    private let seen = SeenValues()
    /// Whether a load of this store has marked the module as used.
    private let hasLooked = MutexGuarded(false)

    init(base: any Module, records: Records) {
        self.base = base
        self.records = records
    }

    var supportsPendingWrites: Bool { true }

    func lastSeen(_ name: ItemName) -> SeenValue? { seen[name] }

    /// Remembers the keyed hash of a loaded item's value in this process and, unless the item is sealed, in a file of
    /// the vault for later processes.
    private func noteSeen(_ item: TokenItem, _ name: ItemName) {
        let before = seen[name]
        remember(name, item.secret, item.details)
        guard !item.details.isSealed, let fingerprint = seen[name]?.fingerprint else { return }
        let wasNoted = before?.isNoted == true && before?.fingerprint == fingerprint
        // If another process holds the item's lock, nothing is recorded now. A later load then tries again.
        let isNoted = wasNoted || records.journal.noteSeen(fingerprint, of: name, in: self.name)
        seen[name]?.isNoted = isNoted
    }

    private func remember(_ name: ItemName, _ secret: SecretBytes, _ details: ItemDetails?) {
        seen[name] = records.fingerprint(of: secret).map { SeenValue(fingerprint: $0, details: details) }
    }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        let lackedVault = !hasLooked.withLock { $0 } && records.versionKey() == nil
        let item = try unlessUnused(answer: nil, or: "no item \(name)", call) { () throws(TokenKeepError) in
            do throws(TokenKeepError) {
                return try base.load(name, share(of: call))
            } catch {
                if error.status == .notFound { seen[name] = nil }
                throw error
            }
        }
        let isFirst = hasLooked.withLock { hasLooked in
            defer { hasLooked = true }
            return !hasLooked
        }
        if isFirst { noteThere(call) }
        noteSeen(item, name)
        return lackedVault ? versioned(item) : item
    }

    /// Returns a copy of a loaded item, with the version that the vault's key computes.
    ///
    /// If no vault existed before the load, the module computed the version with another key, but a later save uses the
    /// vault's key.
    private func versioned(_ item: TokenItem) -> TokenItem {
        guard let key = records.versionKey() else { return item }
        var details = item.details
        details.version = key.version(of: details, secret: item.secret)
        return TokenItem(details: details, secret: item.secret)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try noteUse(of: request.name, call)
        // Watchers are notified even after a failure, because the module may still have saved the value.
        defer { records.announceChange(of: request.name) }
        let version = try holding(request, call) { call throws(TokenKeepError) in
            try base.save(request, share(of: call))
        }
        rememberSaved(request)
        return version
    }

    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try noteUse(of: request.name, call)
        defer { records.announceChange(of: request.name) }
        let saved = try holding(request, call) { call throws(TokenKeepError) in
            try base.saveAtOnce(request, share(of: call))
        }
        guard let version = saved else { return nil }
        rememberSaved(request)
        return version
    }

    /// Runs `body`, which saves an item, under the item's lock if the vault may seal (encrypt) the item.
    ///
    /// Without the lock, another process could replace the vault's keys before the module has the encrypted secret.
    private func holding<Result>(
        _ request: SaveRequest, _ call: CallContext, _ body: (CallContext) throws(TokenKeepError) -> Result
    ) throws(TokenKeepError) -> Result {
        let level = request.accessLevel ?? request.inherited?.accessLevel
        let mayBeSealed = base.supportsSealing && level.map { Protection.isAsked(by: $0, request.flags) } ?? true
        guard mayBeSealed, call.sealer?.holds(request.name) != true, (try? records.exists()) == true else {
            return try body(call)
        }
        let item: ItemTransaction
        do throws(TokenKeepError) {
            item = try records.begin(request.name, call)
        } catch {
            // The item cannot be locked, for example in a read-only vault. Save it without the lock, because only a
            // sealed item needs the lock.
            guard error.status != .busy, error.status != .cancelled else { throw error }
            return try body(call)
        }
        return try body(call.sealing(with: item.sealer))
    }

    private func rememberSaved(_ request: SaveRequest) {
        // A save without a level keeps the item's present level, which this process may not know.
        let before = seen[request.name]?.details
        let isKnown = before != nil || request.accessLevel != nil
        remember(request.name, request.secret, isKnown ? request.details(replacing: before, module: name) : nil)
    }

    /// Marks the module as used on this machine, before a write to the module.
    ///
    /// Loads the item first, to learn whether the module is absent. An absent module must not be marked, because it
    /// would then count as unavailable.
    private func noteUse(of name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard (try? wasUsed()) != true else { return }
        do throws(TokenKeepError) {
            _ = try base.load(name, share(of: call))
        } catch {
            guard !error.isAbsence, error.status != .cancelled else {
                var error = error
                error.changedNothing = true
                throw error
            }
        }
        // The item is saved even if a read-only vault cannot mark the module as used.
        try? records.journal.markUsed(self.name, call)
    }

    func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        defer { records.announceChange(of: name) }
        return try unlessUnused(answer: version == nil ? false : nil, or: "no item \(name)", call) {
            () throws(TokenKeepError) in
            let wasThere = try base.clear(name, ifVersion: version, share(of: call))
            seen[name] = nil
            return wasThere
        }
    }

    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        defer { records.announceChange(of: name) }
        try base.clearOwn(name, share(of: call))
        seen[name] = nil
    }

    func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try unlessUnused(answer: [], or: "no items", call) { () throws(TokenKeepError) in
            try base.foreignItems(name, share(of: call))
        }
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try unlessUnused(answer: ItemListing(), or: "no items", call) { () throws(TokenKeepError) in
            try base.list(namespace: namespace, service: service, share(of: call))
        }
    }

    func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? {
        try unlessUnused(answer: [], or: "no items", call) { () throws(TokenKeepError) in
            try base.namespaces(share(of: call))
        }
    }

    func sealedItems(_ call: CallContext) -> [ItemName] { base.sealedItems(share(of: call)) }

    func report(_ call: CallContext) -> ModuleReport { base.report(share(of: call)) }

    /// Runs `body`. Returns `answer` instead of an error if the module is absent and was never used on this machine.
    ///
    /// If `answer` is nil, throws ``Status/notFound`` with `isAbsence` set, because the module was not asked.
    private func unlessUnused<Answer>(
        answer: Answer?, or words: String, _ call: CallContext, _ body: () throws(TokenKeepError) -> Answer
    ) throws(TokenKeepError) -> Answer {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            guard error.isAbsence else {
                noteThere(call)
                throw error
            }
            if !error.isOwnVault {
                guard try !records.journal.hasUsed(name) else { throw error }
            }
            if let answer { return answer }
            throw TokenKeepError(.notFound, words, module: name, isAbsence: true)
        }
    }

    /// Marks the module as used, because it has an item or failed with an error other than absence.
    ///
    /// Otherwise the module would count as empty if it becomes absent, for example without a message bus.
    private func noteThere(_ call: CallContext) {
        try? records.journal.markUsed(name, call)
    }

    /// Whether the module was used on this machine, and is not a Secret Service that serves this same vault.
    func wasUsed() throws(TokenKeepError) -> Bool {
        guard try records.journal.hasUsed(name) else { return false }
        return !base.isOwnVault(CallContext(deadline: Deadline(milliseconds: 1000)))
    }

    private func share(of call: CallContext) -> CallContext { call.leavingTime }
}

extension CallContext {
    /// The time, in milliseconds, that one step of a call leaves for the following steps.
    private static let reserve: UInt32 = 500

    /// A copy of this context with an earlier deadline, so that time is left for later parts of the call, such as
    /// modules.
    ///
    /// Leaves 500 ms of the remaining time, or half of the time if less than one second remains.
    var leavingTime: CallContext {
        let left = deadline.remainingMilliseconds
        return until(Deadline(milliseconds: left - min(CallContext.reserve, left / 2)))
    }
}
