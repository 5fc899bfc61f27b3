import TokenKeepCore

/// Whether a moved item arrived in the target. The wrappers of the source and target modules share this object.
///
/// The source loses the item only after a load from the target returned the saved secret and metadata.
final class MigrationArrival: Sendable {
    /// The way in which the target altered the item.
    enum Alteration {
        /// The target returned another secret, which no load must find.
        case secret(SecretBytes)
        /// The target returned the same secret with other metadata.
        case metadata
    }

    private struct State {
        var hasArrived: Bool
        var problem: TokenKeepError?
        var alteration: Alteration?
    }

    private let state: MutexGuarded<State>

    init(hasArrived: Bool) { state = MutexGuarded(State(hasArrived: hasArrived)) }

    /// Whether a load from the target returned the item.
    var hasArrived: Bool { state.withLock { $0.hasArrived } }

    /// The first failure of the source or target. The drain records failures and does not throw them.
    var problem: TokenKeepError? { state.withLock { $0.problem } }

    /// The way in which the target altered the item; nil if it is unaltered or was not read back.
    var alteration: Alteration? { state.withLock { $0.alteration } }

    fileprivate func alter(_ alteration: Alteration) { state.withLock { $0.alteration = alteration } }

    fileprivate func arrive() { state.withLock { $0.hasArrived = true } }

    fileprivate func noting<Result>(_ body: () throws(TokenKeepError) -> Result) throws(TokenKeepError) -> Result {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            if error.status != .notFound { state.withLock { $0.problem = $0.problem ?? error } }
            throw error
        }
    }
}

/// A module that takes part in a move.
///
/// A save in the target succeeds only if a load returns the same item. Until then, the other modules lose nothing.
struct MigrationModule: RememberingModule {
    let base: any Module
    let isTarget: Bool
    let arrival: MigrationArrival
    let trace: StackTraceHandler?

    var name: String { base.name }
    var supportsPendingWrites: Bool { base.supportsPendingWrites }
    func lastSeen(_ name: ItemName) -> SeenValue? { (base as? any RememberingModule)?.lastSeen(name) }
    var reportsModificationTime: Bool { base.reportsModificationTime }
    var supportsSealing: Bool { base.supportsSealing }
    var mayAnswer: Bool { (isTarget || arrival.hasArrived) && base.mayAnswer }

    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try tracing(.load, name, "what it holds before it is changed") { () throws(TokenKeepError) in
            try arrival.noting { () throws(TokenKeepError) in try base.load(name, call) }
        }
    }

    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        let version = try arrival.noting { () throws(TokenKeepError) in
            let version = try tracing(.save, request.name, "the item goes there") { () throws(TokenKeepError) in
                try base.save(request, call)
            }
            if isTarget { try readBack(request, call) }
            return version
        }
        if isTarget { arrival.arrive() }
        return version
    }

    private func readBack(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) {
        let read = try Dispatcher.unlessNotFound { () throws(TokenKeepError) in
            try tracing(.load, request.name, "it is read back") { () throws(TokenKeepError) in
                try base.load(request.name, call)
            }
        }
        guard let read, read.secret == request.secret else {
            if let read { arrival.alter(.secret(read.secret)) }
            throw TokenKeepError(
                .corrupt, "\(request.name) does not read back as it was saved", module: base.name,
                hint: "it stays where it was; the module may be broken")
        }
        let wanted = request.details(replacing: nil, module: "")
        guard read.details.hasSameMetadata(as: wanted) else {
            arrival.alter(.metadata)
            throw TokenKeepError(
                .corrupt, "the label, level or attributes of \(request.name) do not read back as they were saved",
                module: base.name,
                hint: "it stays where it was, and its secret is in \(base.name) too; the module may be broken")
        }
    }

    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool {
        try tracing(.clear, name, "it goes from here") { () throws(TokenKeepError) in
            try arrival.noting { () throws(TokenKeepError) in try base.clear(name, ifVersion: version, call) }
        }
    }

    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        try tracing(.clear, name, "it goes from here") { () throws(TokenKeepError) in
            try arrival.noting { () throws(TokenKeepError) in try base.clearOwn(name, call) }
        }
    }

    func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try base.foreignItems(name, call)
    }

    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }

    func report(_ call: CallContext) -> ModuleReport { base.report(call) }

    private func tracing<Answer>(
        _ operation: StackLine.Operation, _ name: ItemName, _ reason: String,
        _ body: () throws(TokenKeepError) -> Answer
    ) throws(TokenKeepError) -> Answer {
        do throws(TokenKeepError) {
            let answer = try body()
            trace?(.aside(operation, name, base, .ok, reason))
            return answer
        } catch {
            trace?(.aside(operation, name, base, error.status, reason))
            throw error
        }
    }
}

extension ItemDetails {
    /// Whether the items have the same label, attributes, level, flags and expiry.
    func hasSameMetadata(as other: ItemDetails) -> Bool {
        label == other.label && attributes == other.attributes && accessLevel == other.accessLevel
            && flags == other.flags && expiresAt == other.expiresAt
    }
}
