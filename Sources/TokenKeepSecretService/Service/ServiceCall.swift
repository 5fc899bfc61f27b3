import TokenKeepCore

/// One call of the module, with the objects that its messages to the service need.
///
/// ``ItemSearch`` finds items, ``ItemReading`` and ``ItemLists`` read items, ``ItemWriting`` changes items, and
/// ``KeyringLocks`` unlocks items and collections.
struct ServiceCall {
    let link: ServiceLink
    let call: CallContext
    /// The time limit of the service in this call.
    let budget: Budget
    /// The module's name, which is stored in an item's details.
    let module: String
    /// Records whether the session's key may be wrong, so that the call must be repeated with a new session.
    let doubt: SessionDoubt
    /// The call's first searches, sent before the session was requested; nil if they were not sent.
    var early: EarlySearch?

    static let itemInterface = "org.freedesktop.Secret.Item"
    static let collectionInterface = "org.freedesktop.Secret.Collection"
}

/// A component of a call, with access to the call's link, context and time limit.
protocol ServicePart {
    var whole: ServiceCall { get }
}

extension ServicePart {
    var link: ServiceLink { whole.link }
    var call: CallContext { whole.call }
    var module: String { whole.module }
    var doubt: SessionDoubt { whole.doubt }
    /// The call's sealer, or a value that seals nothing if the call has no sealer.
    var sealing: ItemSealing { ItemSealing(sealer: call.sealer) }
    /// The time until which this call waits for replies of the service.
    var deadline: Deadline { whole.budget.deadline }
    var search: ItemSearch { ItemSearch(whole: whole) }
    var locks: KeyringLocks { KeyringLocks(whole: whole) }

    func exchange(_ calls: [MethodCall]) throws(TokenKeepError) -> [Reply] {
        try link.exchange(calls, until: deadline)
    }

    func exchange(_ call: MethodCall) throws(TokenKeepError) -> Reply {
        try exchange([call]).first ?? .disconnected
    }

    /// Sends one call and returns the answer. Throws an error if the reply is not an answer.
    func answer(_ call: MethodCall, to action: String, _ subject: String) throws(TokenKeepError) -> Variant {
        let reply = try exchange(call)
        guard case .answer(let body) = reply else { throw ServiceFailure.error(reply, action, subject) }
        return body
    }

    func service(_ member: String, _ body: [Variant], answerType: String) -> MethodCall {
        ask(.service, "org.freedesktop.Secret.Service", member, body, answerType)
    }

    func item(_ path: ObjectPath, _ member: String, _ body: [Variant] = [], answerType: String = "()") -> MethodCall {
        ask(path, ServiceCall.itemInterface, member, body, answerType)
    }

    func collection(_ member: String, _ body: [Variant], answerType: String) -> MethodCall {
        ask(.defaultCollection, ServiceCall.collectionInterface, member, body, answerType)
    }

    func properties(
        _ path: ObjectPath, _ member: String, _ body: [Variant], answerType: String = "()"
    ) -> MethodCall {
        ask(path, "org.freedesktop.DBus.Properties", member, body, answerType)
    }

    func ask(
        _ path: ObjectPath, _ interface: String, _ member: String, _ body: [Variant], _ answerType: String
    ) -> MethodCall {
        MethodCall(
            destination: link.owner, path: path, interface: interface, member: member, body: .tuple(body),
            answerType: answerType)
    }

    /// Makes the call for an item's properties.
    func getAll(_ path: ObjectPath) -> MethodCall {
        properties(path, "GetAll", [.string(ServiceCall.itemInterface)], answerType: "(a{sv})")
    }

    /// Makes the call for an item's attributes.
    func attributes(_ path: ObjectPath) -> MethodCall { property("Attributes", of: path) }

    /// Makes the call for the time of an item's last change.
    func modified(_ path: ObjectPath) -> MethodCall { property("Modified", of: path) }

    private func property(_ name: String, of path: ObjectPath) -> MethodCall {
        properties(path, "Get", [.string(ServiceCall.itemInterface), .string(name)], answerType: "(v)")
    }

    /// Makes the call for several secrets. Faster than ``getSecret(_:)``, but gives no reason for a missing secret.
    func getSecrets(_ paths: [ObjectPath]) -> MethodCall {
        service("GetSecrets", [.paths(paths), .path(link.session)], answerType: "(a{o(oayays)})")
    }

    func getSecret(_ path: ObjectPath) -> MethodCall {
        item(path, "GetSecret", [.path(link.session)], answerType: "((oayays))")
    }

    func searchItems(_ attributes: [String: String]) -> MethodCall {
        ItemSearch.searchItems(attributes, of: link.owner)
    }
}
