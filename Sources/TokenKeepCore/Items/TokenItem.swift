/// An item with its secret, as a load returns it.
public struct TokenItem: Sendable {
    /// The item's details, without the secret.
    public let details: ItemDetails
    /// The secret, in guarded memory that is wiped with the last reference.
    public let secret: SecretBytes

    /// Joins an item's details and its secret.
    public init(details: ItemDetails, secret: SecretBytes) {
        self.details = details
        self.secret = secret
    }
}

/// An item without its secret, as a list returns it.
public struct ItemDetails: Sendable {
    /// Namespace, service and account.
    public var name: ItemName
    /// The label shown to people.
    public var label: String
    /// The item's own attributes.
    public var attributes: ItemAttributes
    /// The item's level.
    public var accessLevel: AccessLevel
    /// The item's flags.
    public var flags: ItemFlags
    /// The time of the first save; nil if the module does not know it.
    public var createdAt: UnixTime?
    /// The time of the last save; nil if the module does not know it.
    public var modifiedAt: UnixTime?
    /// The time at which the secret expires; nil if the caller gave none. Loading an expired item is OK.
    public var expiresAt: UnixTime?
    /// A value that changes with the secret and with user-visible metadata; 0 if a list does not know it.
    public var version: UInt64
    /// The module that holds the item.
    public var module: String
    /// Whether the vault sealed the secret for the module.
    public var isSealed = false
    /// Whether the item is a foreign item, which another program keeps under the same names.
    public var isForeign = false

    /// Describes an item.
    public init(
        name: ItemName, label: String, attributes: ItemAttributes = .none,
        accessLevel: AccessLevel = .afterFirstUnlock, flags: ItemFlags = [], createdAt: UnixTime? = nil,
        modifiedAt: UnixTime? = nil, expiresAt: UnixTime? = nil, version: UInt64 = 0, module: String
    ) {
        self.name = name
        self.label = label
        self.attributes = attributes
        self.accessLevel = accessLevel
        self.flags = flags
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
        self.expiresAt = expiresAt
        self.version = version
        self.module = module
    }
}
