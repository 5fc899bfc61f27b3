public import TokenKeepCore
public final class Vault: Sendable {
    public init(arena: SecretArena) {}
}
public final class VaultModule: Module {
    public let name = "vault"
    public init(vault: Vault) {}
    public func load(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) -> TokenItem { throw TokenKeepError(.notFound, "no item") }
    public func save(_ request: SaveRequest, _ call: CallContext) throws(TokenKeepError) -> UInt64 { throw TokenKeepError(.unsupported, "soon") }
    public func clear(_ name: ItemName, ifVersion version: UInt64?, _ call: CallContext) throws(TokenKeepError) -> Bool { false }
    public func list(namespace: String, service: String?, _ call: CallContext) throws(TokenKeepError) -> ItemListing { ItemListing() }
    public func report(_ call: CallContext) -> ModuleReport { ModuleReport(module: name, place: "?") }
}
