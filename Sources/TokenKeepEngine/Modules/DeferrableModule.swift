import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

/// A module that may miss changes, with the changes that it missed kept pending.
///
/// Before the first write, the records note that the module is used on this machine. Until then, an absent module has
/// no items. Afterwards, the absence is an outage, because the module may have items. A module is noted as used too if
/// it has an item, or fails with an error other than absence. Every call leaves part of its time to the modules behind
/// this module.
struct DeferrableModule: RememberingModule {
    private static let reserveMilliseconds: UInt32 = 500

    let base: any Module
    let records: Records
    private let seen = SeenValues()
    /// Whether this store has checked that the module's use is noted.
    private let hasLooked = MutexGuarded(false)

    init(base: any Module, records: Records) {
        self.base = base
        self.records = records
    }

    var name: String { base.name }
    var supportsPendingWrites: Bool { true }
    var reportsModificationTime: Bool { base.reportsModificationTime }
    var supportsSealing: Bool { base.supportsSealing }
    var mayAnswer: Bool { base.mayAnswer }

    func whenChanged(_ observer: @escaping @Sendable () -> Bool) { base.whenChanged(observer) }

    func prepare(_ call: CallContext) throws(TokenKeepError) { try base.prepare(call) }

    func lastSeen(_ name: ItemName) -> SeenValue? { seen[name] }

    /// Remembers an item that a load found, for this process and for later ones.
    private func noteSeen(_ item: TokenItem, _ name: ItemName) {
        let before = seen[name]
        remember(name, item.secret, item.details)
        guard !item.details.isSealed, let fingerprint = seen[name]?.fingerprint else { return }
        let wasNoted = before?.isNoted == true && before?.fingerprint == fingerprint
        // While the item is locked nothing is noted: a later load notes the value.
        let isNoted = wasNoted || records.noteSeen(fingerprint, of: name, in: self.name)
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

    /// The item with its version under the key of the vault, if the vault was made meanwhile.
    ///
    /// The version under a store's own key would mean nothing to the process that saves the item.
    private func versioned(_ item: TokenItem) -> TokenItem {
        guard let key = records.versionKey() else { return item }
        var details = item.details
        details.version = key.version(of: details, secret: item.secret)
        return TokenItem(details: details, secret: item.secret)
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try noteUse(of: request.name, call)
        // Also after a failure: the module may still get the sent value.
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

    /// Locks the item for a save whose secret may be sealed.
    ///
    /// The lock keeps other processes from replacing the vault's keys before the module has the secret.
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
            // A plain item needs neither a lock nor a writable vault.
            guard error.status != .busy, error.status != .cancelled else { throw error }
            return try body(call)
        }
        return try body(call.sealing(with: item.sealer))
    }

    private func rememberSaved(_ request: SaveRequest) {
        // A save without a level keeps the present level, which may be unknown here.
        let before = seen[request.name]?.details
        let isKnown = before != nil || request.accessLevel != nil
        remember(request.name, request.secret, isKnown ? request.details(replacing: before, module: name) : nil)
    }

    /// Notes before a write that the module is used on this machine.
    ///
    /// The module is loaded first: marking an absent module as used would turn its absence into a permanent outage.
    private func noteUse(of name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard (try? records.hasUsed(self.name)) != true else { return }
        do throws(TokenKeepError) {
            _ = try base.load(name, share(of: call))
        } catch {
            guard !error.isAbsence, error.status != .cancelled else {
                var error = error
                error.changedNothing = true
                throw error
            }
        }
        // An unwritable vault keeps no marker; the item is saved all the same.
        try? records.markUsed(self.name, call)
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

    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        base.protection(of: level, flags)
    }

    func sealedItems(_ call: CallContext) -> [ItemName] { base.sealedItems(share(of: call)) }

    func report(_ call: CallContext) -> ModuleReport { base.report(share(of: call)) }

    /// Answers for an absent module that was never used here: such a module has no items.
    ///
    /// The error has `isAbsence` set, because the module could not be asked.
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
            guard try !records.hasUsed(name) else { throw error }
            if let answer { return answer }
            throw TokenKeepError(.notFound, words, module: name, isAbsence: true)
        }
    }

    /// Notes that the module is used, because it has an item, or answered with an error other than absence.
    ///
    /// The module may have items later. In a session without a bus, its absence then cannot pass for an empty module,
    /// and its pending changes stay.
    private func noteThere(_ call: CallContext) {
        try? records.markUsed(name, call)
    }

    /// The remaining time less 500 ms, or half of the remaining time if that is longer.
    private func share(of call: CallContext) -> CallContext {
        let left = call.deadline.remainingMilliseconds
        return call.until(Deadline(milliseconds: left - min(DeferrableModule.reserveMilliseconds, left / 2)))
    }
}
