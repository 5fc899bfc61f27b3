/// An object of the service, parsed from its D-Bus path. A path below an alias means the same object as the path
/// without the alias.
enum ObjectPath: Equatable {
    case service
    /// A folder of objects: `collection`, `aliases`, `session` or `prompt`.
    case folder(String)
    case collection(String)
    case item(collection: String, id: String)
    case session(String)
    case prompt(String)

    static let root = "/org/freedesktop/secrets"
    static let none = "/"

    /// The identifiers of collections, by their aliases.
    static let aliases = ["default": "login", "login": "login", "session": "session"]

    /// Parses a path; nil if the path cannot belong to an object of the service.
    init?(_ path: String) {
        if path == ObjectPath.root {
            self = .service
            return
        }
        guard path.hasPrefix(ObjectPath.root + "/") else { return nil }
        let parts = path.dropFirst(ObjectPath.root.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard let kind = parts.first, parts.count <= 3, !parts.contains("") else { return nil }
        let names = parts.dropFirst().map(String.init)
        switch (kind, names.count) {
        case ("collection", 0), ("aliases", 0), ("session", 0), ("prompt", 0): self = .folder(String(kind))
        case ("collection", 1): self = .collection(names[0])
        case ("collection", 2): self = .item(collection: names[0], id: names[1])
        case ("aliases", 1), ("aliases", 2):
            guard let collection = ObjectPath.aliases[names[0]] else { return nil }
            self = names.count == 1 ? .collection(collection) : .item(collection: collection, id: names[1])
        case ("session", 1): self = .session(names[0])
        case ("prompt", 1): self = .prompt(names[0])
        default: return nil
        }
    }

    /// The object's own path, without an alias.
    var text: String {
        switch self {
        case .service: ObjectPath.root
        case .folder(let name): "\(ObjectPath.root)/\(name)"
        case .collection(let id): "\(ObjectPath.root)/collection/\(id)"
        case .item(let collection, let id): "\(ObjectPath.root)/collection/\(collection)/\(id)"
        case .session(let name): "\(ObjectPath.root)/session/\(name)"
        case .prompt(let name): "\(ObjectPath.root)/prompt/\(name)"
        }
    }

    /// The object's own path and its paths below aliases.
    var everyText: [String] {
        switch self {
        case .collection(let id):
            [text] + ObjectPath.aliases(of: id).map { "\(ObjectPath.root)/aliases/\($0)" }
        case .item(let collection, let id):
            [text] + ObjectPath.aliases(of: collection).map { "\(ObjectPath.root)/aliases/\($0)/\(id)" }
        default: [text]
        }
    }

    private static func aliases(of collection: String) -> [String] {
        aliases.filter { $0.value == collection }.map(\.key).sorted()
    }
}

/// The names of the D-Bus interfaces.
enum Interfaces {
    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let session = "org.freedesktop.Secret.Session"
    static let prompt = "org.freedesktop.Secret.Prompt"
    static let properties = "org.freedesktop.DBus.Properties"
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let ours = "org.tokenkeep.SecretService1"
    /// The interface by which gnome-keyring and its like unlock a collection with a given password, without a prompt.
    static let passwords = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"
    static let portal = "org.freedesktop.impl.portal.Secret"
}
