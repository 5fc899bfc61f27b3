import TokenKeepCore

/// One call's exchange with the service.
struct ServiceCall {
    let link: ServiceLink
    let call: CallContext
    /// The service's share of the call's time.
    let budget: Budget
    /// The module's name, for an item's details.
    let module: String
    /// This call's doubt about the session's key.
    let doubt: SessionDoubt
    /// The search of the call's item, which was sent with the request for the session if the link is new.
    var early: EarlySearch?

    /// Seals and opens secrets with the call's sealer.
    var sealing: ItemSealing { ItemSealing(sealer: call.sealer) }

    /// The deadline for the service's next answer.
    var deadline: Deadline { budget.deadline }

    func exchange(_ calls: [MethodCall]) throws(TokenKeepError) -> [Reply] {
        try link.exchange(calls, until: deadline)
    }

    func exchange(_ call: MethodCall) throws(TokenKeepError) -> Reply {
        try exchange([call]).first ?? .disconnected
    }

    /// Sends a call and returns the answer. Any other reply is thrown as an error.
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

    static let itemInterface = "org.freedesktop.Secret.Item"
    static let collectionInterface = "org.freedesktop.Secret.Collection"
}
