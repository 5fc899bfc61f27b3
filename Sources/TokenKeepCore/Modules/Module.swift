/// A module: holds items for a stack.
///
/// A module does not know the other modules: the stack asks them in order and joins their answers. Calls come from any
/// thread, several at once. A module checks all data it reads before use, and keeps the deadline.
public protocol Module: Sendable {
    /// The module's name on a stack line and in ``ItemDetails/module``.
    var name: String { get }

    /// Whether the module is deferrable: a change that it missed becomes pending, and is drained later.
    var supportsPendingWrites: Bool { get }

    /// Whether the module's items are the journal's own records in the state ``RecordState/home``.
    var holdsRecords: Bool { get }

    /// False if the module certainly cannot answer now, as far as known without asking anything.
    var mayAnswer: Bool { get }

    /// Whether every item of the module has the time of its last modification.
    var reportsModificationTime: Bool { get }

    /// Calls `observer` after changes of the module's items outside this process, until `observer` returns false.
    ///
    /// Covers only changes that the module learns of. `observer` is called on any thread, and must be brief.
    func whenChanged(_ observer: @escaping @Sendable () -> Bool)

    /// Does the work that needs the user, if prompts are allowed: unlocks or makes the module's storage.
    func prepare(_ call: CallContext) throws(TokenKeepError)

    /// Loads the item with its secret.
    ///
    /// - Throws: ``Status/notFound`` if the module does not hold the item. ``Status/locked``, ``Status/unavailable``,
    ///   ``Status/timedOut``, ``Status/corrupt`` or ``Status/io`` if the module cannot find out.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem

    /// Saves an item and returns its version. The save is durable if the module is.
    ///
    /// The precondition is checked in the same step as the save.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64

    /// Saves an item if one step suffices: if the process ends meanwhile, the old or the new item is left.
    ///
    /// Never prompts. `call` says whether a following ``save(_:_:)`` in several steps may prompt.
    ///
    /// - Returns: the item's version; nil, without any change, if the save needs several steps.
    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64?

    /// Removes an item. Clearing a missing item is not an error.
    ///
    /// - Parameter version: the version that the item must have, otherwise ``Status/conflict``; nil for any version.
    /// - Returns: whether there was an item.
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool

    /// Removes the items saved through this module under the name. Foreign items stay.
    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError)

    /// The foreign items under the name, whether or not the module has an item of its own.
    ///
    /// - Throws: ``Status/locked`` if locked items may be foreign items of this name, and the errors of a load.
    func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem]

    /// The items of a namespace, without their secrets.
    ///
    /// - Parameter service: only items of this service; nil for all.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing

    /// The namespaces in which the module has items of TokenKeep's; nil if the module can list only a namespace that is
    /// named.
    func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>?

    /// Whether the module seals secrets with the call's sealer, if its own protection is not enough for an item.
    var supportsSealing: Bool { get }

    /// The protection that the module achieves for a level; nil if unknown, which counts as none.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection?

    /// The names of all items, in every namespace, that the module knows to be sealed by the vault.
    func sealedItems(_ call: CallContext) -> [ItemName]

    /// The module's condition, for people. Changes nothing.
    func report(_ call: CallContext) -> ModuleReport
}

extension Module {
    /// False: a module within this process or its files is never unavailable for a time.
    public var supportsPendingWrites: Bool { false }
    /// False.
    public var holdsRecords: Bool { false }
    /// True.
    public var mayAnswer: Bool { true }
    /// False.
    public var reportsModificationTime: Bool { false }
    /// Never calls the observer.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) {}
    /// Unknown.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { nil }
    /// False.
    public var supportsSealing: Bool { false }
    /// nil.
    public func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? { nil }
    /// Empty: the module gets no sealed secrets.
    public func sealedItems(_ call: CallContext) -> [ItemName] { [] }
    /// Saves: every save is one step.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try save(request, call.withoutPrompts)
    }
    /// Clears: the module has no foreign items.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, call)
    }
    /// Empty.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] { [] }
    /// Does nothing.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {}
}

/// The items that a module or a whole stack lists.
public struct ItemListing: Sendable {
    /// The items found.
    public var items: [ItemDetails]
    /// The first error met while listing; nil if the list is complete.
    public var problem: TokenKeepError?
    /// The first error of each status and module: ``problem`` alone could hide a more serious error.
    public private(set) var problems: [TokenKeepError] = []

    /// A listing of `items`.
    public init(items: [ItemDetails] = [], problem: TokenKeepError? = nil) {
        self.items = items
        if let problem { count(problem) }
    }

    /// Adds an error to ``problem`` and ``problems``, unless an earlier error takes precedence.
    public mutating func count(_ error: TokenKeepError) {
        problem = problem ?? error
        let isKnown = problems.contains { $0.status == error.status && $0.module == error.module }
        if !isKnown { problems.append(error) }
    }
}

/// The condition of a module, for `tokenkeep status`.
public struct ModuleReport: Sendable {
    /// The module's name.
    public let module: String
    /// The reason why the module cannot be used; nil if it can.
    public let problem: TokenKeepError?
    /// The location of the module's items, in words: a path, a service's name.
    public let place: String
    /// Further notes for a person, one line each.
    public let notes: [String]

    /// Describes a module's condition.
    public init(module: String, problem: TokenKeepError? = nil, place: String, notes: [String] = []) {
        self.module = module
        self.problem = problem
        self.place = place
        self.notes = notes
    }
}
