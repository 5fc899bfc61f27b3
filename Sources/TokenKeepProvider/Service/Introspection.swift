/// The replies to `org.freedesktop.DBus.Introspectable`.
extension Provider {
    func introspect(_ path: ObjectPath, _ message: BusMessage) throws(Refusal) {
        try message.expect("")
        whenFresh(message, .describing(path)) { [self] () throws(Refusal) in
            let (interface, nodes) = try description(of: path)
            var text = Introspection.head + interface
            for node in nodes { text += "<node name=\"\(node)\"/>\n" }
            bus.reply(to: message) { $0.string(text + "</node>\n") }
        }
    }

    private func description(of path: ObjectPath) throws(Refusal) -> (interface: String, nodes: [String]) {
        switch path {
        case .service: return (Introspection.service, ["aliases", "collection", "session", "prompt"])
        case .folder("collection"): return ("", index.collections.keys.sorted())
        case .folder("aliases"): return ("", ObjectPath.aliases.keys.sorted())
        case .folder: return ("", [])
        case .collection(let id):
            _ = try collection(id)
            return (Introspection.collection, index.items(of: id).map(\.id))
        case .item:
            _ = try item(at: path)
            return (Introspection.item, [])
        case .session:
            guard clients.session(path.text) != nil else { throw .noSession }
            return (Introspection.session, [])
        case .prompt:
            guard prompts[path.text] != nil else { throw .unknownObject("there is no prompt \(path.text)") }
            return (Introspection.prompt, [])
        }
    }
}

/// The XML descriptions of the interfaces.
enum Introspection {
    static let head = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
        <interface name="org.freedesktop.DBus.Peer"><method name="Ping"/>
        <method name="GetMachineId"><arg type="s" direction="out"/></method></interface>
        <interface name="org.freedesktop.DBus.Introspectable">
        <method name="Introspect"><arg type="s" direction="out"/></method></interface>
        <interface name="org.freedesktop.DBus.Properties">
        <method name="Get"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="out"/></method>
        <method name="GetAll"><arg type="s" direction="in"/><arg type="a{sv}" direction="out"/></method>
        <method name="Set"><arg type="s" direction="in"/><arg type="s" direction="in"/><arg type="v" direction="in"/></method>
        <signal name="PropertiesChanged"><arg type="s"/><arg type="a{sv}"/><arg type="as"/></signal></interface>

        """

    private static func method(_ name: String, _ taken: [String], _ given: [String]) -> String {
        let arguments =
            taken.map { "<arg type=\"\($0)\" direction=\"in\"/>" }
            + given.map { "<arg type=\"\($0)\" direction=\"out\"/>" }
        return "<method name=\"\(name)\">\(arguments.joined())</method>\n"
    }

    private static func signal(_ name: String, _ types: [String]) -> String {
        "<signal name=\"\(name)\">\(types.map { "<arg type=\"\($0)\"/>" }.joined())</signal>\n"
    }

    private static func property(_ name: String, _ type: String, isWritable: Bool = false) -> String {
        "<property name=\"\(name)\" type=\"\(type)\" access=\"\(isWritable ? "readwrite" : "read")\"/>\n"
    }

    private static func interface(_ name: String, _ parts: [String]) -> String {
        "<interface name=\"\(name)\">\n\(parts.joined())</interface>\n"
    }

    static let service = interface(
        Interfaces.service,
        [
            method("OpenSession", ["s", "v"], ["v", "o"]), method("CreateCollection", ["a{sv}", "s"], ["o", "o"]),
            method("SearchItems", ["a{ss}"], ["ao", "ao"]), method("Unlock", ["ao"], ["ao", "o"]),
            method("Lock", ["ao"], ["ao", "o"]), method("GetSecrets", ["ao", "o"], ["a{o(oayays)}"]),
            method("ReadAlias", ["s"], ["o"]), method("SetAlias", ["s", "o"], []), property("Collections", "ao"),
            signal("CollectionCreated", ["o"]), signal("CollectionDeleted", ["o"]), signal("CollectionChanged", ["o"]),
        ])

    static let collection = interface(
        Interfaces.collection,
        [
            method("Delete", [], ["o"]), method("SearchItems", ["a{ss}"], ["ao"]),
            method("CreateItem", ["a{sv}", "(oayays)", "b"], ["o", "o"]),
        ]
            + CollectionProperty.allCases.map { property($0.rawValue, $0.signature, isWritable: $0 == .label) } + [
                signal("ItemCreated", ["o"]), signal("ItemDeleted", ["o"]), signal("ItemChanged", ["o"]),
            ])

    static let item = interface(
        Interfaces.item,
        [
            method("Delete", [], ["o"]), method("GetSecret", ["o"], ["(oayays)"]),
            method("SetSecret", ["(oayays)"], []),
        ]
            + ItemProperty.allCases.map {
                property($0.rawValue, $0.signature, isWritable: $0 == .label || $0 == .attributes)
            })

    static let session = interface(Interfaces.session, [method("Close", [], [])])

    static let prompt = interface(
        Interfaces.prompt,
        [method("Prompt", ["s"], []), method("Dismiss", [], []), signal("Completed", ["b", "v"])])

    static let ours = interface(
        Interfaces.ours,
        [method("Unlock", ["h"], ["i"]), method("Lock", [], ["i"]), property("VaultId", "s")])

    static let portal = interface(
        Interfaces.portal,
        [method("RetrieveSecret", ["o", "s", "h", "a{sv}"], ["u", "a{sv}"]), property("version", "u")])
}
