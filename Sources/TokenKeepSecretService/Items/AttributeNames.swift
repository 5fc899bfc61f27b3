/// The names of item attributes on the Secret Service.
enum AttributeNames {
    static let schema = "xdg:schema"
    static let service = "service"
    static let username = "username"
    static let namespace = "tokenkeep:namespace"
    /// Replaces ``service`` in a sealed item, and in every item outside the empty namespace.
    ///
    /// Other programs search only for `service` and `username`. A program that found a sealed secret, or an item of
    /// another namespace, would use the secret as its own password.
    static let ownService = "tokenkeep:service"
    /// Replaces ``username`` wherever ``ownService`` replaces ``service``.
    static let ownAccount = "tokenkeep:account"
    static let access = "tokenkeep:access"
    /// TokenKeep's label of an item that another program made. The label that the other program gave stays unchanged.
    static let label = "tokenkeep:label"
    static let expires = "tokenkeep:expires"
    static let flags = "tokenkeep:flags"
    static let encoding = "tokenkeep:encoding"
    /// The ID of the vault whose key seals the secret.
    static let sealed = "tokenkeep:sealed"
    /// The prefix of the attributes that the application gave to the item.
    static let ownPrefix = "tokenkeep:a:"
    /// The prefix of all attributes that only TokenKeep writes.
    static let prefix = "tokenkeep:"

    /// The names of the attributes that hold an item's service and account.
    static func names(in namespace: String, areSealed: Bool) -> (service: String, account: String) {
        namespace.isEmpty && !areSealed ? (service, username) : (ownService, ownAccount)
    }

    /// The schema of the items that TokenKeep makes.
    static let ourSchema = "org.tokenkeep.Item"
    /// The schema of items whose program named no schema.
    static let genericSchema = "org.freedesktop.Secret.Generic"

    /// The attributes that a foreign item with a service and a username may have.
    static let ofOthers: Set<String> = [schema, service, username, "application", "target"]
    /// The attributes that KeePassXC adds to every item.
    static let ofKeePassXC: Set<String> = ["Title", "UserName", "URL", "Notes", "Uuid", "Path"]
}
