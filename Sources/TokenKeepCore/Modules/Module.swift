/// One place where items live.
///
/// A module knows nothing of the others: the stack asks them in order and joins their answers. Calls come from any
/// thread, several at once. A module checks whatever it reads before it uses it, and keeps the deadline.
public protocol Module: Sendable {
    /// The module's name on a stack line and in ``ItemDetails/module``.
    var name: String { get }

    /// Whether what cannot reach the module now may be owed to it, to be settled when it can be reached again.
    var supportsPendingWrites: Bool { get }

    /// Whether the module's items are the journal's own records in the state ``RecordState/home``.
    var holdsRecords: Bool { get }

    /// False where it is known, without asking anybody, that the module cannot answer now.
    var mayAnswer: Bool { get }

    /// Whether every item that the module gives says since when it has its value.
    var reportsModificationTime: Bool { get }

    /// Calls `observer` when something that this process did not do may have changed the module's items, as far as the
    /// module is told, until it answers false. It is called on any thread, and must be brief.
    func whenChanged(_ observer: @escaping @Sendable () -> Bool)

    /// Does what needs the user, where prompts are allowed: unlocks the place where items live, makes one.
    func prepare(_ call: CallContext) throws(TokenKeepError)

    /// The item with its secret.
    ///
    /// - Throws: ``Status/notFound`` where it is not here, ``Status/locked``, ``Status/unavailable``,
    ///   ``Status/timedOut``, ``Status/corrupt`` or ``Status/io`` where that cannot be told.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem

    /// Saves an item, durably where the module is durable, and returns its version.
    ///
    /// The precondition is checked in the same step as the save.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64

    /// Saves an item where one step does it, so that whatever ends the process leaves the old item or the new one.
    ///
    /// It prompts nobody; `call` says whether the user may be asked in the steps of a ``save(_:_:)`` that follows.
    ///
    /// - Returns: its version; nil, and nothing is changed, where it takes several steps.
    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64?

    /// Removes an item.
    ///
    /// - Parameter version: where given, only an item of this version; otherwise ``Status/conflict``.
    /// - Returns: whether there was one. Clearing what is not there is no error.
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool

    /// Removes what was saved through this module under the name, and leaves what other programs keep there.
    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError)

    /// What other programs keep under the name, alone or beside what was saved through this module.
    ///
    /// - Throws: ``Status/locked`` where there may be such items that cannot be looked at, and what a load throws.
    func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem]

    /// The items of a namespace, without their secrets.
    ///
    /// - Parameter service: only items of this service; nil for all.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing

    /// Whether the module seals, by the call's sealer, the secrets of items that ask more than it gives.
    var supportsSealing: Bool { get }

    /// What the module achieves for a level; nil where it states nothing, which counts as none.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection?

    /// The items of all namespaces whose secrets the vault sealed before the module got them, as far as it can tell.
    func sealedItems(_ call: CallContext) -> [ItemName]

    /// Whether the module can be used, and where its items are: for people. Changes nothing.
    func report(_ call: CallContext) -> ModuleReport
}

extension Module {
    /// No: a module that is part of this process or its files is there or is broken.
    public var supportsPendingWrites: Bool { false }
    /// No.
    public var holdsRecords: Bool { false }
    /// Yes.
    public var mayAnswer: Bool { true }
    /// No.
    public var reportsModificationTime: Bool { false }
    /// Nobody tells.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) {}
    /// It states nothing.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { nil }
    /// No.
    public var supportsSealing: Bool { false }
    /// None: it gets no sealed secrets.
    public func sealedItems(_ call: CallContext) -> [ItemName] { [] }
    /// Saves: it takes one step.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try save(request, call.withoutPrompts)
    }
    /// Clears: other programs keep nothing beside it.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, call)
    }
    /// None.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] { [] }
    /// Nothing.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {}
}

/// What a module, or a whole stack, lists.
public struct ItemListing: Sendable {
    /// The items found.
    public var items: [ItemDetails]
    /// Names what could not be asked or read; nil where the list is complete.
    public var problem: TokenKeepError?
    /// The first problem of each status: ``problem`` alone would hide what is worse.
    public private(set) var problems: [TokenKeepError] = []

    /// A listing of `items`.
    public init(items: [ItemDetails] = [], problem: TokenKeepError? = nil) {
        self.items = items
        if let problem { count(problem) }
    }

    /// Counts a problem: the first is kept, and the first of each status.
    public mutating func count(_ error: TokenKeepError) {
        problem = problem ?? error
        if !problems.contains(where: { $0.status == error.status }) { problems.append(error) }
    }
}

/// How a module is: for `tokenkeep status`.
public struct ModuleReport: Sendable {
    /// The module's name.
    public let module: String
    /// Why it cannot be used; nil where it can.
    public let problem: TokenKeepError?
    /// Where its items are, in words: a path, a service's name.
    public let place: String
    /// What else a person should know, one line each.
    public let notes: [String]

    /// Describes a module's condition.
    public init(module: String, problem: TokenKeepError? = nil, place: String, notes: [String] = []) {
        self.module = module
        self.problem = problem
        self.place = place
        self.notes = notes
    }
}
