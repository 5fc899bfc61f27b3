import TokenKeepCore

/// Finds the process that owns the service's name on the bus.
enum ServiceOwner {
    /// The bus name of the message bus itself.
    static let bus = "org.freedesktop.DBus"

    /// The bus name that a service owns in addition if it signals every new and every changed item.
    private static let telling = "org.gnome.keyring"

    /// The bus name that a provider of a vault owns in addition.
    static let provider = ProviderName.own

    /// The service found on the bus.
    struct Found {
        /// The service's unique bus name.
        let name: String
        /// Whether the service signals every new and every changed item.
        let tells: Bool
        /// Whether the service is `tokenkeep-secret-service`, which serves this or another vault.
        let isProvider: Bool
        /// Whether the service owns the bus name of the provider that serves this store's vault.
        let isOwnVault: Bool
    }

    /// The identifier of the vault that a provider serves; nil if the provider does not report it.
    static func vaultID(
        of provider: String, over connection: BusConnection, until deadline: Deadline
    ) throws(TokenKeepError) -> String? {
        guard let path = ObjectPath("/org/tokenkeep/SecretService1") else { return nil }
        let question = MethodCall(
            destination: provider, path: path, interface: "org.freedesktop.DBus.Properties", member: "Get",
            body: .tuple([.string(ServiceOwner.provider), .string("VaultId")]), answerType: "(v)")
        guard case .answer(let body) = try connection.exchange(question, until: deadline), body[0][0].isOf(type: "s")
        else { return nil }
        return body[0][0].text
    }

    /// The error if the service serves this very vault.
    static var ownVault: TokenKeepError {
        var error = TokenKeepError(
            .unavailable, "the Secret Service is this vault itself", hint: nil, isAbsence: true)
        error.isOwnVault = true
        error.changedNothing = true
        return error
    }

    /// Finds the service on the bus. If no service runs, the bus starts one if it can.
    ///
    /// - Parameter ownVault: the identifier of this store's vault; nil without a vault.
    /// - Throws: ``Status/unavailable`` if the service did not start, as an absence if nothing owns the name and
    ///   nothing can be started; ``Status/timedOut``.
    static func find(
        over connection: BusConnection, ownVault: String?, until deadline: Deadline
    ) throws(TokenKeepError) -> Found {
        // Query the owner of the service's name first. A provider requests its other names before that name, so if it
        // owns that name, the later queries find all of its names.
        let names = [BusWatch.serviceName, telling, provider, ownVault.flatMap(ProviderName.ofVault)]
        let getOwners = names.compactMap(\.self).map {
            ask("GetNameOwner", .tuple([.string($0)]), answerType: "(s)")
        }
        let replies = try exchangeWithRules(getOwners, over: connection, until: deadline)
        if let owner = owner(replies.suffix(getOwners.count)) { return owner }
        let start = ask(
            "StartServiceByName", .tuple([.string(BusWatch.serviceName), .number(0)]), answerType: "(u)")
        let started = try connection.exchange(start, until: deadline)
        if let owner = owner(try connection.exchange(getOwners, until: deadline)) { return owner }
        guard case .error(let error) = started, error == "org.freedesktop.DBus.Error.ServiceUnknown" else {
            throw TokenKeepError(
                .unavailable, "the Secret Service did not start\(words(started))",
                hint: "start a keyring daemon, for example gnome-keyring-daemon")
        }
        throw TokenKeepError(
            .unavailable, "there is no Secret Service on this session bus",
            hint: "install and start a keyring, for example gnome-keyring", isAbsence: true)
    }

    /// Sends the match rules that the bus has not accepted yet, and then the calls. The last replies belong to `calls`.
    private static func exchangeWithRules(
        _ calls: [MethodCall], over connection: BusConnection, until deadline: Deadline
    ) throws(TokenKeepError) -> [Reply] {
        let (remove, add) = connection.watch.beginRequest()
        guard !add.isEmpty else { return try connection.exchange(calls, until: deadline) }
        func matches(_ member: String, _ rules: [String]) -> [MethodCall] {
            rules.map { ask(member, .tuple([.string($0)]), answerType: "()") }
        }
        do throws(TokenKeepError) {
            let replies = try connection.exchange(
                matches("RemoveMatch", remove) + matches("AddMatch", add) + calls, until: deadline)
            let answers = zip(add, replies.dropFirst(remove.count))
            connection.watch.endRequest(accepted: answers.filter(\.1.isAnswer).map(\.0))
            return replies
        } catch {
            connection.watch.endRequest(accepted: nil)
            throw error
        }
    }

    /// Parses the replies about the owners of the service's name, of ``telling``, of ``provider`` and, if it was
    /// queried, of the name of the own vault's provider.
    private static func owner(_ replies: some Sequence<Reply>) -> Found? {
        let names = replies.map(text)
        guard names.count >= 3, let name = names[0] else { return nil }
        return Found(
            name: name, tells: names[1] == name, isProvider: names[2] == name,
            isOwnVault: names.count > 3 && names[3] == name)
    }

    /// Whether the process that owns the service's name also owns the bus name `name`.
    static func isNamed(
        _ name: String, owner: String, over connection: BusConnection, until deadline: Deadline
    ) throws(TokenKeepError) -> Bool {
        let question = ask("GetNameOwner", .tuple([.string(name)]), answerType: "(s)")
        return text(try connection.exchange(question, until: deadline)) == owner
    }

    private static func ask(_ member: String, _ body: Variant, answerType: String) -> MethodCall {
        MethodCall(
            destination: bus, path: .bus, interface: bus, member: member,
            body: body, answerType: answerType)
    }

    private static func text(_ reply: Reply) -> String? {
        guard case .answer(let body) = reply else { return nil }
        return body[0].text
    }

    private static func words(_ reply: Reply) -> String {
        guard case .error(let name) = reply else { return "" }
        return ": \(name)"
    }
}
