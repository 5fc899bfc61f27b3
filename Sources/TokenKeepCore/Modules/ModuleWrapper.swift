/// A module around another module, to which the wrapper forwards each call that it does not implement itself.
///
/// A wrapper that changes the effect of a save must implement ``Module/saveAtOnce(_:_:)`` and ``Module/save(_:_:)``.
package protocol ModuleWrapper: Module {
    /// The wrapped module.
    var base: any Module { get }
}

extension ModuleWrapper {
    package var name: String { base.name }
    package var supportsPendingWrites: Bool { base.supportsPendingWrites }
    package var holdsRecords: Bool { base.holdsRecords }
    package var mayAnswer: Bool { base.mayAnswer }
    package func mayAnswer(asking call: CallContext) -> Bool { base.mayAnswer(asking: call) }
    package func isOwnVault(_ call: CallContext) -> Bool { base.isOwnVault(call) }
    package var reportsModificationTime: Bool { base.reportsModificationTime }
    package func whenChanged(_ observer: @escaping @Sendable () -> Bool) { base.whenChanged(observer) }
    package func prepare(_ call: CallContext) throws(TokenKeepError) { try base.prepare(call) }

    package func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem {
        try base.load(name, call)
    }

    package func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 {
        try base.save(request, call)
    }

    package func saveAtOnce(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64? {
        try base.saveAtOnce(request, call)
    }

    package func clear(
        _ name: ItemName, ifVersion version: UInt64?, _ call: CallContext
    ) throws(TokenKeepError) -> Bool {
        try base.clear(name, ifVersion: version, call)
    }

    package func clearOwn(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        try base.clearOwn(name, call)
    }

    package func foreignItems(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> [TokenItem] {
        try base.foreignItems(name, call)
    }

    package func list(
        namespace: String, service: String?, _ call: CallContext
    ) throws(TokenKeepError) -> ItemListing {
        try base.list(namespace: namespace, service: service, call)
    }

    package func namespaces(_ call: CallContext) throws(TokenKeepError) -> Set<String>? { try base.namespaces(call) }
    package var supportsSealing: Bool { base.supportsSealing }

    package func protection(of level: AccessLevel, _ flags: ItemFlags) -> Protection? {
        base.protection(of: level, flags)
    }

    package func sealedItems(_ call: CallContext) -> [ItemName] { base.sealedItems(call) }
    package func report(_ call: CallContext) -> ModuleReport { base.report(call) }
}
