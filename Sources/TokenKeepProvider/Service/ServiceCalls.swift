import CGcrypt
import TokenKeepCore
import TokenKeepKeys

/// The methods of `org.freedesktop.Secret.Service`.
extension Provider {
    func callService(_ message: BusMessage) throws(Refusal) {
        switch message.member {
        case "OpenSession": try openSession(message)
        case "CreateCollection": try createCollection(message)
        case "SearchItems": try searchItems(message)
        case "Unlock": try unlock(message)
        case "Lock": try lock(message)
        case "GetSecrets": try getSecrets(message)
        case "ReadAlias": try readAlias(message)
        case "SetAlias": try setAlias(message)
        default: throw .unknownMethod("the service has no method \(message.member)")
        }
    }

    /// A random path that no object has ever had, not even in an earlier process.
    static func freshPath(_ folder: String) -> String {
        "\(ObjectPath.root)/\(folder)/\(Hexadecimal.text(randomBytes(16)))"
    }

    static func randomBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        tokenkeep_gcrypt_random(&bytes, count)
        return bytes
    }

    private func openSession(_ message: BusMessage) throws(Refusal) {
        try message.expect("sv")
        let algorithm = try message.string()
        var peer: [UInt8]?
        try message.variant { (signature) throws(Refusal) in
            guard algorithm == SecretSession.algorithm else { return try message.skip(signature) }
            guard signature == "ay" else { throw .invalid("the public key is not of the type ay") }
            peer = Array(try message.bytes())
        }
        lookForOthersSoon()
        guard algorithm == "plain" || peer != nil else { throw .notSupported("there is no such algorithm") }
        try clients.reserve(for: message.sender)
        guard let peer else { return begin(SecretSession(owner: message.sender, key: nil), message, nil) }
        run(on: nil, for: message.sender, { SecretSession.agree(with: peer) }) { [self] agreed in
            guard let agreed else {
                clients.release(for: message.sender)
                return bus.fail(message, .invalid("the public key is not of the group"))
            }
            begin(SecretSession(owner: message.sender, key: agreed.key), message, agreed.ours)
        }
    }

    private func begin(_ session: SecretSession, _ message: BusMessage, _ ours: [UInt8]?) {
        let path = Provider.freshPath("session")
        clients.add(session, at: path)
        bus.reply(to: message) { reply in
            if let ours {
                reply.variant("ay") { reply.bytes(ours) }
            } else {
                reply.variant("s") { reply.string("") }
            }
            reply.path(path)
        }
    }

    private func searchItems(_ message: BusMessage) throws(Refusal) {
        try message.expect("a{ss}")
        let attributes = try message.strings()
        whenFresh(message, .searching(nil)) { [self] () throws(Refusal) in
            let found = index.search(attributes)
            // While the vault is locked, do not reply with two empty lists. A client would conclude that no item
            // matches, and some programs then delete data that belongs to the item.
            guard !found.isEmpty || !isLocked else { throw .isLocked }
            bus.reply(to: message) { reply in
                reply.paths(found.filter { !isLocked($0) }.map(\.path.text))
                reply.paths(found.filter { isLocked($0) }.map(\.path.text))
            }
        }
    }

    private func getSecrets(_ message: BusMessage) throws(Refusal) {
        try message.expect("aoo")
        let paths = Provider.once(try message.paths())
        let sessionPath = try message.objectPath()
        guard let session = clients.session(sessionPath), session.owner == message.sender else { throw .noSession }
        whenFresh(message, .reading(paths.compactMap(ObjectPath.init))) { [self] () throws(Refusal) in
            var asked: [(path: String, item: IndexedItem)] = []
            for path in paths {
                guard case .item(let collection, let id) = ObjectPath(path), let item = index[collection, id],
                    !isLocked(item)
                else { continue }
                asked.append((path, item))
            }
            let (asking, held) = (asked, memory)
            ask(
                on: asking.count == 1 ? asking.first?.item.id : nil, for: message,
                { [writer] () throws(TokenKeepError) in
                    try Provider.load(asking, held, writer)
                }
            ) { [self] loaded in
                guard let found = loaded else {
                    return bus.fail(
                        message, .limit("the secrets are longer than \(Provider.secretsLimit) bytes together"))
                }
                bus.reply(to: message) { reply in
                    reply.array("{o(oayays)}") {
                        for (path, secret, contentType) in found {
                            reply.container("e", "o(oayays)") {
                                reply.path(path)
                                session.write(secret, contentType: contentType, session: sessionPath, to: reply)
                            }
                        }
                    }
                }
            }
        }
    }

    private typealias LoadedSecret = (path: String, secret: SecretBytes, contentType: String)

    /// The maximum total length of the secrets in one reply, in bytes. The bus disconnects the sender of a message of
    /// more than 32 MiB.
    private static let secretsLimit = 16 << 20

    /// Loads the secrets of items. Omits items that were removed, locked or damaged meanwhile: the readable secrets
    /// must not depend on a damaged record.
    ///
    /// - Returns: the secrets; nil if they are too long for one reply.
    private static func load(
        _ asked: [(path: String, item: IndexedItem)], _ memory: [String: SecretBytes], _ writer: VaultWriter
    ) throws(TokenKeepError) -> [LoadedSecret]? {
        var found: [LoadedSecret] = []
        var length = 0
        for (path, item) in asked {
            guard let secret = try load(item, memory, writer) else { continue }
            length += secret.count
            guard length <= secretsLimit else { return nil }
            found.append((path, secret, item.contentType))
        }
        return found
    }

    private static func load(
        _ item: IndexedItem, _ memory: [String: SecretBytes], _ writer: VaultWriter
    ) throws(TokenKeepError) -> SecretBytes? {
        guard let name = item.name else { return memory[item.id] }
        do throws(TokenKeepError) {
            return try writer.load(name).secret
        } catch {
            guard [.notFound, .locked, .corrupt].contains(error.status) else { throw error }
            return nil
        }
    }

    private func readAlias(_ message: BusMessage) throws(Refusal) {
        try message.expect("s")
        let collection = ObjectPath.aliases[try message.string()]
        bus.reply(to: message) { $0.path(collection.map { ObjectPath.collection($0).text } ?? ObjectPath.none) }
    }

    private func setAlias(_ message: BusMessage) throws(Refusal) {
        try message.expect("so")
        let alias = try message.string()
        let path = try message.objectPath()
        whenFresh(message, .reading([ObjectPath(path)].compactMap(\.self))) { [self] () throws(Refusal) in
            guard let present = ObjectPath.aliases[alias] else { throw .notSupported("there is no alias \(alias)") }
            var wanted: String?
            if path != ObjectPath.none {
                guard case .collection(let id) = ObjectPath(path) else {
                    throw .noSuchObject("there is no collection \(path)")
                }
                wanted = try collection(id).id
            }
            guard wanted == present else {
                // Do not change the alias. Programs that know the path of `login` would still store items there, so the
                // user's items would be split between two collections.
                Log.line(
                    "the alias \(alias) stays with \(present): \(caller(of: message.sender)) wanted another collection")
                throw .notSupported("the aliases default, login and session stay with their collections")
            }
            bus.reply(to: message)
        }
    }

    private func createCollection(_ message: BusMessage) throws(Refusal) {
        try message.expect("a{sv}s")
        var label = ""
        try message.properties { (name, signature) throws(Refusal) in
            guard name == "\(Interfaces.collection).Label" else { return try message.skip(signature) }
            guard signature == "s" else { throw .invalid("a label is not of the type s") }
            label = try message.string()
        }
        let alias = try message.string()
        whenFresh(message, .changing(collection: ItemMapping.objectName(of: label))) { [self] () throws(Refusal) in
            if let known = ObjectPath.aliases[alias] { return replyCreated(.collection(known), message) }
            guard alias.isEmpty else { throw .notSupported("there is no alias \(alias)") }
            guard !isLocked else { throw .isLocked }
            try Provider.checkLength(ofLabel: label)
            let id = freeCollection(label)
            guard let name = Provider.recordName(ofCollection: id) else { throw .invalid("the label cannot be used") }
            makingCollections.insert(id)
            saveCollection(name, label.isEmpty ? id : label, message) { [self] isMade in
                makingCollections.remove(id)
                if isMade { replyCreated(.collection(id), message) }
            }
        }
    }

    private func freeCollection(_ label: String) -> String {
        let wanted = ItemMapping.objectName(of: label)
        guard index.collections[wanted] != nil || makingCollections.contains(wanted) || wanted == "default" else {
            return wanted
        }
        let suffix = "_" + Hexadecimal.text(Provider.randomBytes(4))
        // Shorten the wanted name, because the identifier must not exceed the maximum length of a path's element.
        return "\(wanted.prefix(ItemMapping.objectNameLength - suffix.count))\(suffix)"
    }

    func replyCreated(_ path: ObjectPath, _ message: BusMessage) {
        bus.reply(to: message) { reply in
            reply.path(path.text)
            reply.path(ObjectPath.none)
        }
    }
}
