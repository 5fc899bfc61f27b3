/// The names of item attributes on the Secret Service.
enum AttributeNames {
    static let schema = "xdg:schema"
    static let service = "service"
    static let username = "username"
    static let namespace = "tokenkeep:namespace"
    /// Replace ``service`` and ``username`` for an item outside the common namespace, and for a sealed item.
    ///
    /// Other programs search only for that pair. They would use a namespace's item or ciphertext as their own, and
    /// overwrite it.
    static let ownService = "tokenkeep:service"
    static let ownAccount = "tokenkeep:account"
    static let access = "tokenkeep:access"
    /// The label of an adopted item, whose own label stays the other program's.
    static let label = "tokenkeep:label"
    static let expires = "tokenkeep:expires"
    static let flags = "tokenkeep:flags"
    static let encoding = "tokenkeep:encoding"
    /// The id of the vault whose key seals the secret.
    static let sealed = "tokenkeep:sealed"
    /// The prefix of the names of an item's own attributes.
    static let ownPrefix = "tokenkeep:a:"
    /// The prefix of all names that only this project writes.
    static let prefix = "tokenkeep:"

    /// The attributes for service and account in a namespace, for sealed or plain items.
    static func names(in namespace: String, areSealed: Bool) -> (service: String, account: String) {
        namespace.isEmpty && !areSealed ? (service, username) : (ownService, ownAccount)
    }

    /// The schema of TokenKeep's items.
    static let ourSchema = "org.tokenkeep.Item"
    /// The schema without a meaning.
    static let genericSchema = "org.freedesktop.Secret.Generic"

    /// The attributes that other programs may give to items named by service and username.
    static let ofOthers: Set<String> = [schema, service, username, "application", "target"]
    /// The attributes that KeePassXC adds to every item.
    static let ofKeePassXC: Set<String> = ["Title", "UserName", "URL", "Notes", "Uuid", "Path"]
}
