/// The attributes of items on the Secret Service, by name.
enum AttributeNames {
    static let schema = "xdg:schema"
    static let service = "service"
    static let username = "username"
    static let namespace = "tokenkeep:namespace"
    /// What names an item outside the common namespace, and a sealed one, in place of ``service`` and ``username``: other
    /// programs search for that pair alone, would answer with a namespace's item or with ciphertext, and would overwrite it.
    static let ownService = "tokenkeep:service"
    static let ownAccount = "tokenkeep:account"
    static let access = "tokenkeep:access"
    static let expires = "tokenkeep:expires"
    static let flags = "tokenkeep:flags"
    static let encoding = "tokenkeep:encoding"
    /// The vault whose key seals the secret.
    static let sealed = "tokenkeep:sealed"
    /// Before the names of an item's own attributes.
    static let ownPrefix = "tokenkeep:a:"
    /// Before every name that only this project writes.
    static let prefix = "tokenkeep:"

    /// The attributes that name the items of a namespace, the sealed ones or the others.
    static func names(in namespace: String, areSealed: Bool) -> (service: String, account: String) {
        namespace.isEmpty && !areSealed ? (service, username) : (ownService, ownAccount)
    }

    /// The schema of our items.
    static let ourSchema = "org.tokenkeep.Item"
    /// The schema that says nothing.
    static let genericSchema = "org.freedesktop.Secret.Generic"

    /// What other programs that name items by service and username may add.
    static let ofOthers: Set<String> = [schema, service, username, "application", "target"]
    /// What KeePassXC adds to every item.
    static let ofKeePassXC: Set<String> = ["Title", "UserName", "URL", "Notes", "Uuid", "Path"]
}
