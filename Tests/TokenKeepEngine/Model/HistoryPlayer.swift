import TestSupport
import TokenKeepCore
import TokenKeepKeys
import TokenKeepRecords

@testable import TokenKeepEngine

/// The error that ends a history: a step had a result that the model forbids.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String
}

/// The kind of stack and modules with which a history is played.
enum HistoryWorld: CaseIterable {
    /// The default stack.
    case oneService
    /// The default stack, with a service that needs several steps to save over an item.
    case inSteps
    /// A service that reports no modification times, and that no other program uses.
    case undated
    /// Two services, which one of the stores has in reverse order, and which no other program uses.
    case twoServices
    /// The machine has no vault, and has only loaded one item of another program and one missing item.
    case onlyLoaded
    /// One item name in two namespaces.
    case twoNamespaces
    /// A module whose items the vault seals.
    case sealed

    var hasOtherPrograms: Bool { self != .undated && self != .twoServices }
}

/// Plays one history with several stores on one vault, and compares every result with the model.
final class HistoryPlayer: @unchecked Sendable {
    let vaultPath: String
    let records: Records
    /// Simulates the kernel's keyring, which all stores share.
    let keys = ClassKeyStore(simulatingKernelAt: { 0 })
    /// The vault's password; nil if the vault has none.
    var password: String?
    /// The keys that were locked since the last unlock; nil if none.
    var locking: Locking?
    var passwords = 0
    /// The accounts of failed saves whose value the service may still save.
    var toRetry: Set<Int> = []
    let serviceName: String
    let kind: HistoryWorld
    let world = ScriptedService()
    let second: ScriptedService?
    /// The stores, first by the index in a step, then by namespace.
    var stores: [[Store]] = []
    var isConnected = [true, true, false]
    var items = [ItemModel](repeating: ItemModel(), count: HistoryStep.accounts)
    /// Each account's known versions with their values, the earliest first.
    var versions: [[(version: UInt64, value: String)]]
    var saved = 0
    var log: [String] = []

    init(_ kind: HistoryWorld, vaultPath: String, serviceName: String) throws {
        self.kind = kind
        second = kind == .twoServices ? ScriptedService(name: "second-service") : nil
        world.takesSteps = kind == .inSteps
        world.reportsModificationTime = kind != .undated
        self.vaultPath = vaultPath
        self.serviceName = serviceName
        records = Records(VaultOpener(path: vaultPath, residentKeys: keys, costs: .least))
        versions = Array(repeating: [], count: HistoryStep.accounts)
        if kind != .onlyLoaded {
            _ = try records.openOrMake(.patient)
        }
        for store in 0..<HistoryStep.stores { stores.append(try open(store)) }
        if kind == .onlyLoaded { try loadFirst() }
    }

    func loadFirst() throws {
        try otherProgram(HistoryStep(action: .otherProgramSaves, store: 0, account: 0), saving: nil)
        for account in items.indices {
            try load(HistoryStep(action: .load, store: 0, account: account), .patient, false)
        }
    }

    func open(_ store: Int) throws -> [Store] {
        let places = second.map { store == 1 ? [$0, world] : [world, $0] } ?? [world]
        let lines = places.map { "any sufficient \($0.name)" } + ["any required vault"]
        return try HistoryStep.namespaces.map { namespace -> Store in
            var configuration = StoreConfiguration(stackText: lines.joined(separator: "\n"), namespace: namespace)
            configuration.vaultPath = vaultPath
            world.setUp(
                &configuration, isConnected: isConnected[store], beside: second, keys: keys, seals: kind == .sealed)
            return try Store(configuration)
        }
    }

    /// The store of a step, for the namespace of the step's account.
    func store(_ step: HistoryStep) -> Store { stores[step.store][namespace(step.account)] }

    /// The index of an account's namespace in `HistoryStep.namespaces`.
    func namespace(_ account: Int) -> Int { kind == .twoNamespaces ? account : 0 }

    /// The accounts that share a namespace with an account.
    func accounts(beside account: Int) -> [Int] {
        items.indices.filter { namespace($0) == namespace(account) }
    }

    func name(_ account: Int) throws -> ItemName {
        try ItemName(
            namespace: HistoryStep.namespaces[namespace(account)], service: serviceName,
            account: kind == .twoNamespaces ? "both" : "\(account)")
    }

    /// Whether the call that an interlude interrupts holds the item, or the removal of its service: an interlude that waited
    /// for it would wait in vain.
    private func isHeld(_ account: Int) throws -> Bool {
        guard let vault = try records.open() else { return false }
        let names = try [name(account), ItemName(removalOf: serviceName, in: name(account).namespace)]
        for name in names {
            let id = vault.keys.journal.id(of: name)
            guard let lock = try VaultLock(trying: .item(id: id), of: vault.directory) else { return true }
            lock.release()
        }
        return false
    }

    /// Plays the steps, ends all outages, and checks the items that remain.
    func play(_ steps: [HistoryStep]) throws {
        for step in steps { try play(step, isInterlude: false) }
        try end()
    }

    // MARK: Steps

    func play(_ step: HistoryStep, isInterlude: Bool) throws {
        var broken: (any Error)?
        let cancel = world.cancel
        let store = store(step)
        world.cancel = { store.cancel() }
        defer { world.cancel = cancel }
        if !isInterlude { world.wasCut = false }
        if let interlude = step.interlude, !step.action.replacesKeys {
            world.interlude = (
                { [unowned self] in
                    do {
                        for step in interlude.step { try play(step, isInterlude: true) }
                    } catch { broken = error }
                }, interlude.calls
            )
        }
        defer { if !isInterlude { world.interlude = nil } }
        try take(step, isInterlude)
        if let broken { throw broken }
    }

    func take(_ step: HistoryStep, _ isInterlude: Bool) throws {
        let deadline: Deadline = try isInterlude && isHeld(step.account) ? .passed : .patient
        switch step.action {
        case .save, .saveAt: try save(step, .none, expecting: nil, deadline, isInterlude)
        case .saveIfAbsent: try save(step, .absent, expecting: nil, deadline, isInterlude)
        case .saveIfVersion(let isStale):
            guard let known = known(step.account, isStale: isStale) else { return }
            try save(step, .version(known.version), expecting: known.value, deadline, isInterlude)
        case .clearIfVersion(let isStale):
            guard let known = known(step.account, isStale: isStale) else { return }
            try clear(step, if: known, deadline)
        case .load: try load(step, deadline, isInterlude)
        case .clear: try clear(step, deadline, isInterlude)
        case .clearService: try clearService(step)
        case .list: try list(step)
        case .export(let isPartial): try export(step, isPartial: isPartial)
        case .reopen(let connected):
            isConnected[step.store] = step.store == 2 ? connected : true
            stores[step.store] = try open(step.store)
        case .service(let condition): (step.account == 0 ? world : second ?? world).become(condition)
        case .fault(let fault, let calls): world.fault = (fault, calls)
        case .otherProgramSaves: try otherProgram(step, saving: nil)
        case .otherProgramSavesAgain:
            guard let known = known(step.account, isStale: false) else { return }
            try otherProgram(step, saving: known.value)
        case .otherProgramClears: try otherProgramClears(step)
        case .clockIsSet(let seconds): try setClock(by: seconds)
        case .secondsPass: world.now = UnixTime(world.now.rawValue + 2)
        case .setPassword, .changePassword, .removePassword: try changeKeys(step)
        case .unlock: try unlock(step)
        case .lock(let locking): try lock(step, locking)
        }
    }
}
