import TokenKeepCore

/// One call of the module, with everything that its messages to the service need.
///
/// ``ItemSearch`` finds items, ``ItemReading`` and ``ItemLists`` read them, ``ItemWriting`` changes them, and
/// ``KeyringLocks`` unlocks what is locked.
struct ServiceCall {
    let link: ServiceLink
    let call: CallContext
    /// The time that the service has in this call.
    let budget: Budget
    /// The module's name, which becomes part of an item's details.
    let module: String
    /// Whether the session's key may be wrong, so that the call is tried again with a new session.
    let doubt: SessionDoubt
    /// The call's first searches, sent before the request for the session; nil if they were not sent.
    var early: EarlySearch?

    static let itemInterface = "org.freedesktop.Secret.Item"
    static let collectionInterface = "org.freedesktop.Secret.Collection"
}

/// A part of what a call does.
protocol ServicePart {
    var whole: ServiceCall { get }
}

extension ServicePart {
    var link: ServiceLink { whole.link }
    var call: CallContext { whole.call }
    var module: String { whole.module }
    var doubt: SessionDoubt { whole.doubt }
    /// Seals and opens secrets with the call's sealer.
    var sealing: ItemSealing { ItemSealing(sealer: call.sealer) }
    /// The end of the wait for the service's next answer.
    var deadline: Deadline { whole.budget.deadline }
    var search: ItemSearch { ItemSearch(whole: whole) }
    var locks: KeyringLocks { KeyringLocks(whole: whole) }

    func exchange(_ calls: [MethodCall]) throws(TokenKeepError) -> [Reply] {
        try link.exchange(calls, until: deadline)
    }

    func exchange(_ call: MethodCall) throws(TokenKeepError) -> Reply {
        try exchange([call]).first ?? .disconnected
    }

    /// Sends one call and returns the answer. Throws an error for any other reply.
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

    /// The call for an item's properties.
    func getAll(_ path: ObjectPath) -> MethodCall {
        properties(path, "GetAll", [.string(ServiceCall.itemInterface)], answerType: "(a{sv})")
    }

    /// The call for an item's attributes.
    func attributes(_ path: ObjectPath) -> MethodCall { property("Attributes", of: path) }

    /// The call for the time of an item's last change.
    func modified(_ path: ObjectPath) -> MethodCall { property("Modified", of: path) }

    private func property(_ name: String, of path: ObjectPath) -> MethodCall {
        properties(path, "Get", [.string(ServiceCall.itemInterface), .string(name)], answerType: "(v)")
    }

    /// The call for several secrets, which is faster than ``getSecret(_:)`` but does not say why a secret is missing.
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
