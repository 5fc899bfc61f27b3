/// An item with its secret, as a load returns it.
public struct TokenItem: Sendable {
    /// Everything but the secret.
    public let details: ItemDetails
    /// The secret, in guarded memory that is wiped when the last reference goes.
    public let secret: SecretBytes

    /// Joins an item's details and its secret.
    public init(details: ItemDetails, secret: SecretBytes) {
        self.details = details
        self.secret = secret
    }
}

/// Everything about an item but its secret, as a list returns it.
public struct ItemDetails: Sendable {
    /// Namespace, service and account.
    public var name: ItemName
    /// What a person reads in a list.
    public var label: String
    /// The item's own attributes.
    public var attributes: ItemAttributes
    /// When the item may be read.
    public var accessLevel: AccessLevel
    /// What is kept with the item besides its level.
    public var flags: ItemFlags
    /// When the item was first saved, where the module knows.
    public var createdAt: UnixTime?
    /// When the item was last saved, where the module knows.
    public var modifiedAt: UnixTime?
    /// When the secret ends, where the caller said so. Loading an expired item is OK.
    public var expiresAt: UnixTime?
    /// Changes whenever the secret or the user-visible metadata does; 0 where a list does not know it.
    public var version: UInt64
    /// The module that holds the item.
    public var module: String
    /// Whether the vault sealed the secret before the module got it.
    public var isSealed = false
    /// Whether another program keeps the item: it is answered with because it has the same names.
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
