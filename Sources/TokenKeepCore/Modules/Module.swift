/// Storage in which a stack can keep items, for example the vault or the Secret Service.
///
/// A module does not know the other modules: the stack queries them in order and combines their answers. Several
/// threads may call a module at once. A module must validate all data that it reads, and must answer before the
/// deadline.
///
/// No member has a default implementation here. ``BasicModule`` implements the optional members for a module without a
/// wrapper, and ``ModuleWrapper`` forwards them to the wrapped module. A new member therefore does not compile until
/// both have it.
public protocol Module: Sendable {
    /// The module's name, as in the lines of a stack and in ``ItemDetails/module``.
    var name: String { get }

    /// Whether TokenKeep keeps a change that the module missed, for example while unavailable, and applies it later.
    var supportsPendingWrites: Bool { get }

    /// Whether the module is the vault, whose records also hold the pending changes of other modules.
    var holdsRecords: Bool { get }

    /// Whether the module may be able to answer now, judged without a query to the module.
    var mayAnswer: Bool { get }

    /// Whether the module may be able to answer now. Queries a module that did not answer an earlier call, for at most
    /// 250 ms.
    func mayAnswer(asking call: CallContext) -> Bool

    /// Whether the module's service is a TokenKeep provider that serves this vault. False if the service does not
    /// answer in time.
    ///
    /// Such a module counts as absent, because the stack would otherwise store each item twice in the same vault.
    func isOwnVault(_ call: CallContext) -> Bool

    /// Whether the module knows the time of the last change of each of its items.
    var reportsModificationTime: Bool { get }

    /// Registers `observer`, which is called after items were changed outside this process, until `observer` returns
    /// false.
    ///
    /// A change that the module's storage does not signal is not reported. `observer` may be called on any thread and
    /// must be brief.
    func whenChanged(_ observer: @escaping @Sendable () -> Bool)

    /// Does the work that may need a prompt: unlocks or makes the module's storage. Does nothing if prompts are not
    /// allowed.
    func prepare(_ call: CallContext) throws(TokenKeepError)

    /// Loads the item with its secret.
    ///
    /// - Throws: ``Status/notFound`` if the module does not have the item. ``Status/locked``, ``Status/unavailable``,
    ///   ``Status/timedOut``, ``Status/corrupt`` or ``Status/io`` if the module does not know whether it has the item.
    func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem

    /// Saves an item and returns its version. The saved item is durable, unless the module keeps items in memory.
    ///
    /// The module checks the request's precondition in the same step as the save.
    func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64

    /// Saves an item if one step is enough. If the process is killed meanwhile, either the old or the new item exists.
    ///
    /// Never shows a prompt. If `call` allows prompts, only a later ``save(_:_:)`` may show one.
    ///
    /// - Returns: the item's version; nil, without any change, if the save needs several steps.
    func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64?

    /// Removes an item. Clearing a missing item is not an error.
    ///
    /// - Parameter version: the required version of the item; another version throws ``Status/conflict``. nil for any
    ///   version.
    /// - Returns: whether the item existed.
    func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool

    /// Removes the item that TokenKeep saved in this module, but no items that other programs saved under the same
    /// name.
    func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError)

    /// The items that other programs saved under this name, whether or not TokenKeep saved an item of this name, too.
    ///
    /// - Throws: ``Status/locked`` if the module has locked items that other programs may have saved, and the errors of
    ///   ``load(_:_:)``.
    func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem]

    /// Lists the items of a namespace, without their secrets.
    ///
    /// - Parameter service: lists only items of this service; nil for all services.
    func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing

    /// The namespaces in which the module has items that TokenKeep saved; nil if the module cannot list them.
    func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>?

    /// Whether the module can store secrets that the vault has sealed (encrypted) for better protection.
    var supportsSealing: Bool { get }

    /// The protection that the module gives items of this level; nil if unknown, which counts as no protection.
    func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection?

    /// The names of all items, in every namespace, for which the module knows that the vault sealed them.
    func sealedItems(_ call: CallContext) -> [ItemName]

    /// Describes the module's condition for the user. Changes nothing.
    func report(_ call: CallContext) -> ModuleReport
}

/// A module that does not wrap another module.
public protocol BasicModule: Module {}

extension BasicModule {
    /// False: the module is always available.
    public var supportsPendingWrites: Bool { false }
    /// False: the module is not the vault.
    public var holdsRecords: Bool { false }
    /// True: the module can always answer.
    public var mayAnswer: Bool { true }
    /// Returns ``mayAnswer``, because the module itself notices when its storage answers again.
    public func mayAnswer(asking call: CallContext) -> Bool { mayAnswer }
    /// False: the module uses no service that could be a provider of the vault.
    public func isOwnVault(_ call: CallContext) -> Bool { false }
    /// False: the module does not know when its items changed.
    public var reportsModificationTime: Bool { false }
    /// Does nothing: the module reports no changes, so `observer` is never called.
    public func whenChanged(_ observer: @escaping @Sendable () -> Bool) {}
    /// nil: the module's protection is unknown.
    public func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? { nil }
    /// False: the module does not store sealed secrets.
    public var supportsSealing: Bool { false }
    /// nil: the module cannot list its namespaces.
    public func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? { nil }
    /// Empty: the module does not store sealed secrets.
    public func sealedItems(_ call: CallContext) -> [ItemName] { [] }
    /// Saves the item like ``save(_:_:)``, because the module needs only one step for every save.
    public func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try save(request, call.withoutPrompts)
    }
    /// Clears the item like ``clear(_:ifVersion:_:)``, because the module has no items of other programs.
    public func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        _ = try clear(name, ifVersion: nil, call)
    }
    /// Empty: the module has no items of other programs.
    public func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] { [] }
    /// Does nothing: the module never needs a prompt.
    public func prepare(_ call: CallContext) throws(TokenKeepError) {}
}

/// The items that a module or a whole stack returns for a list request.
public struct ItemListing: Sendable {
    /// The items that were found.
    public var items: [ItemDetails]
    /// The first error of the listing; nil if the list is complete.
    public var problem: TokenKeepError?
    /// The errors of the listing: the first error for each pair of status and module.
    ///
    /// ``problem`` is the first element, but a later error may be more serious.
    public private(set) var problems: [TokenKeepError] = []

    /// Makes a listing with these items.
    public init(items: [ItemDetails] = [], problem: TokenKeepError? = nil) {
        self.items = items
        if let problem { count(problem) }
    }

    /// Adds an error to ``problems`` if they contain no error with the same status and module.
    ///
    /// Also stores the error in ``problem`` if that is nil.
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
    /// The reason why the module cannot be used; nil if it can be used.
    public let problem: TokenKeepError?
    /// A description of where the module's items are stored, for example a path or the name of a service.
    public let place: String
    /// Additional sentences for the user, one line each.
    public let remarks: [String]

    /// Makes the description of a module's condition.
    public init(module: String, problem: TokenKeepError? = nil, place: String, remarks: [String] = []) {
        self.module = module
        self.problem = problem
        self.place = place
        self.remarks = remarks
    }
}
