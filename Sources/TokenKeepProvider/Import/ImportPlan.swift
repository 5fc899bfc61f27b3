import TokenKeepCore
import TokenKeepKeys

/// The items of another keyring, each with the place where the import stores it. Saves nothing.
struct ImportPlan {
    /// An item and its place.
    struct Entry {
        let item: ForeignItem
        let place: Place
    }

    /// A place in the vault where an item is stored.
    enum Place {
        /// The record that `tokenkeep` and the library use for this item, too.
        case shared(ItemName)
        /// The record that TokenKeep's helper of a tool uses for this item.
        case tool(ToolItem)
        /// An item of a collection, by the collection's identifier.
        case own(String)
        /// The secret of a sandboxed program, by the program's application id.
        case portal(String)

        /// The record's name if several items of the keyring may have this place.
        var name: ItemName? {
            switch self {
            case .shared(let name): name
            case .tool(let item): item.name
            case .own, .portal: nil
            }
        }
    }

    /// The items to import, the oldest first, because a search returns the item that was stored last first.
    private(set) var entries: [Entry] = []
    /// The labels of the collections to create, by the collections' identifiers.
    private(set) var collections: [String: String] = [:]
    /// The names of TokenKeep's own items in the keyring. The helpers read these items before the vault's.
    private(set) var ownNames: Set<ItemName> = []
    /// The number of items that only `--verbatim` imports.
    private(set) var leftOut = 0
    /// The number of items that the keyring cannot return.
    private(set) var refused = 0

    private static let portalSchemas: Set<String> = [
        "org.freedesktop.portal.Secret", "org.freedesktop.impl.portal.Secret",
    ]
    /// The prefix of hashed attribute names: gnome-keyring returns them if it was locked when it started.
    private static let hashed = "gkr:compat:hashed:"

    /// Reads the keyring, and plans which items are imported and where.
    ///
    /// - Parameters:
    ///   - known: the vault's own collections, by identifier.
    ///   - isVerbatim: whether every item is imported with its attributes. Otherwise, those of a service and a username
    ///     are, and those of tools under the names that TokenKeep's helpers look up.
    /// - Throws: ``Status/locked`` if any collection or item is locked, because a partial import would look complete.
    init(
        _ keyring: ForeignKeyring, known: [String: IndexedCollection], isVerbatim: Bool
    ) throws(TokenKeepError) {
        let fixed = [try keyring.collection(behind: "default"), try keyring.collection(behind: "login")]
        let volatile = try keyring.collection(behind: "session")
        var found: [Entry] = []
        let lasting = try keyring.collections().filter { $0.path != volatile }
        try ImportPlan.checkOpen(lasting)
        for collection in lasting {
            // Chromium searches the default collection alone, which is `login` in the vault.
            let isLogin = fixed.contains(collection.path)
            let id = isLogin ? IndexedCollection.login : ImportPlan.identifier(for: collection, known)
            for path in collection.items {
                guard let item = try readable(path, of: keyring) else { continue }
                if let name = ItemMapping.ownName(of: item.attributes) { ownNames.insert(name) }
                let place = ImportPlan.place(of: item, in: id, isVerbatim)
                if case .own = place, !isVerbatim {
                    leftOut += 1
                } else {
                    found.append(Entry(item: item, place: place))
                    if !isLogin, isVerbatim { collections[id] = collection.label }
                }
            }
        }
        // The sort keeps the keyring's order among items that were modified in the same second.
        entries = found.enumerated().sorted {
            ($0.element.item.modified, $0.offset) < ($1.element.item.modified, $1.offset)
        }.map(\.element)
    }

    /// Reads an item. Returns nil, and counts the refusal, if the keyring cannot show the item.
    private mutating func readable(_ path: String, of keyring: ForeignKeyring) throws(TokenKeepError) -> ForeignItem? {
        do throws(TokenKeepError) {
            let item = try keyring.item(at: path)
            try ImportPlan.check(item)
            return item
        } catch {
            guard error.isOfForeignObject else { throw error }
            refused += 1
            Log.line("\(path) cannot be read: \(error.message)")
            return nil
        }
    }

    private static func check(_ item: ForeignItem) throws(TokenKeepError) {
        guard !item.isLocked else { throw locked("an item of the keyring is locked") }
        guard !item.attributes.keys.contains(where: { $0.hasPrefix(hashed) }) else {
            throw locked("the keyring was locked when it started, and shows hashes of attributes")
        }
    }

    private static func checkOpen(_ collections: [ForeignCollection]) throws(TokenKeepError) {
        let labels = collections.filter(\.isLocked).map(\.label)
        guard let first = labels.first else { return }
        guard labels.count > 1 else { throw locked("the collection \(first) is locked") }
        throw locked("the collections \(labels.joined(separator: ", ")) are locked")
    }

    private static func locked(_ reason: String) -> TokenKeepError {
        TokenKeepError(
            .locked, reason, module: "secret-service",
            hint:
                "unlock the keyring (gnome-keyring: tokenkeep unlock --keyring), then import again: nothing was imported"
        )
    }

    /// The identifier that a collection gets in the vault. It is derived from the collection's path, so that a second
    /// import finds the same collection.
    ///
    /// The identifier is the path's last element, unless a fixed collection or another collection of the vault has it.
    private static func identifier(
        for collection: ForeignCollection, _ known: [String: IndexedCollection]
    ) -> String {
        let last = collection.path.split(separator: "/").last.map(String.init) ?? ""
        let isUsual = collection.path == "\(ObjectPath.root)/collection/\(last)" && ItemMapping.isObjectName(last)
        let isFree = !taken.contains(last) && (known[last]?.label ?? collection.label) == collection.label
        guard !isUsual || !isFree else { return last }
        let path = Array(collection.path.utf8).withUnsafeBytes { KeyedHash.digest(of: $0, count: 8) }
        return "\(last.prefix(40))_\(Hexadecimal.text(path))"
    }

    /// Identifiers that are reserved for fixed collections.
    private static let taken: Set<String> = [IndexedCollection.login, IndexedCollection.session, "default"]

    private static func place(of item: ForeignItem, in collection: String, _ isVerbatim: Bool) -> Place {
        if let program = item.attributes["app_id"], portalSchemas.contains(item.attributes["xdg:schema"] ?? "") {
            return .portal(program)
        }
        if collection == IndexedCollection.login, let name = ItemMapping.sharedName(of: item.attributes) {
            return .shared(name)
        }
        if !isVerbatim, let item = ToolItem(item) { return .tool(item) }
        return .own(collection)
    }
}
