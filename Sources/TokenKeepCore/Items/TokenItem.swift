/// An item with its secret, as a load returns it.
public struct TokenItem: Sendable {
    /// The item's details, without the secret.
    public let details: ItemDetails
    /// The secret, in guarded memory that is wiped when the last reference is released.
    public let secret: SecretBytes

    /// Makes an item from its details and its secret.
    public init(details: ItemDetails, secret: SecretBytes) {
        self.details = details
        self.secret = secret
    }
}

/// An item without its secret, as a list returns it.
public struct ItemDetails: Sendable {
    /// The namespace, service and account.
    public var name: ItemName
    /// The label shown to users.
    public var label: String
    /// The attributes that the application gave the item.
    public var attributes: ItemAttributes
    /// The item's level.
    public var accessLevel: AccessLevel
    /// The item's flags.
    public var flags: ItemFlags
    /// The time of the item's first save; nil if the module does not know it.
    public var createdAt: UnixTime?
    /// The time of the item's last save; nil if the module does not know it.
    public var modifiedAt: UnixTime?
    /// The time at which the secret expires; nil if unknown. An expired item can still be loaded.
    public var expiresAt: UnixTime?
    /// A number that changes with the secret and the visible metadata; 0 if a list did not compute it.
    public var version: UInt64
    /// The name of the module that holds the item.
    public var module: String
    /// Whether the vault sealed (encrypted) the secret before the module stored it.
    public var isSealed = false
    /// Whether a program other than TokenKeep saved this item, under the service and account of ``name``.
    public var isForeign = false
    /// The fields that a client of the Secret Service gave the item; nil for none. Only the vault stores them.
    package var lookup: LookupFields?

    /// Makes the details of an item.
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
