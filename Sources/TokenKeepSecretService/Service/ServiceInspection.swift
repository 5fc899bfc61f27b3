package import TokenKeepCore

/// The state of the session bus and of the Secret Service on it, for a diagnosis.
///
/// An inspection starts no service, unlocks nothing, and reads no item.
package struct ServiceInspection: Sendable {
    /// The state of the default collection (keyring), in which the service makes new items.
    package enum DefaultCollection: Sendable {
        case missing, locked, open
        /// The service did not say which.
        case unknown
    }

    /// The process that owns the service's bus name.
    package struct Owner: Sendable {
        /// The process id; nil if the bus does not report it.
        package let process: UInt32?
        /// Whether the process is `tokenkeep-secret-service`, the provider of a vault.
        package let isProvider: Bool
        /// The identifier of the provider's vault; nil if unknown or if the process is not a provider.
        package fileprivate(set) var vaultID: String?
        /// The error of the queries to the service; nil if the service answered.
        package fileprivate(set) var silence: TokenKeepError?
        package fileprivate(set) var collection = DefaultCollection.unknown
    }

    /// The owner of the service's bus name; nil if no process owns the name.
    package private(set) var owner: Owner?
    /// The ids of the other processes that are queued for the name.
    package private(set) var waiting: [UInt32] = []
    /// Whether the bus can start a service for the name.
    package private(set) var isActivatable = false

    /// The maximum wait for the service's replies, in milliseconds.
    private static let patience: UInt32 = 2000

    /// The address of the session bus that the module would use.
    ///
    /// - Throws: ``Status/unavailable``, as an absence, if there is no address.
    package static func address() throws(TokenKeepError) -> String { try BusAddress.find() }

    /// Queries the bus at an address, and then the service.
    ///
    /// - Throws: ``Status/unavailable`` if the bus cannot be used, as an absence if nothing listens at the address;
    ///   ``Status/timedOut`` if the bus does not answer.
    package init(of address: String, until deadline: Deadline) throws(TokenKeepError) {
        try ForkGuard.enter()
        try GLibrary.load()
        let connection = try BusConnection.connect(
            to: address, breaker: CircuitBreaker(), observers: ChangeObservers(), until: deadline)
        let replies = try connection.exchange(
            [
                ServiceInspection.ask("GetNameOwner", BusWatch.serviceName, answerType: "(s)"),
                ServiceInspection.ask("ListQueuedOwners", BusWatch.serviceName, answerType: "(as)"),
                ServiceInspection.ask("GetNameOwner", ServiceOwner.provider, answerType: "(s)"),
                ServiceInspection.ask("ListActivatableNames", nil, answerType: "(as)"),
            ], until: deadline)
        isActivatable = ServiceInspection.texts(replies[3]).contains(BusWatch.serviceName)
        guard let name = ServiceInspection.text(replies[0]) else { return }
        let others = ServiceInspection.texts(replies[1]).filter { $0 != name }
        let processes = try connection.exchange(
            ([name] + others).map { ServiceInspection.ask("GetConnectionUnixProcessID", $0, answerType: "(u)") },
            until: deadline
        ).map(ServiceInspection.process)
        waiting = processes.dropFirst().compactMap(\.self)
        var owner = Owner(process: processes.first ?? nil, isProvider: ServiceInspection.text(replies[2]) == name)
        do throws(TokenKeepError) {
            try owner.ask(name, over: connection, until: deadline.within(milliseconds: ServiceInspection.patience))
        } catch {
            owner.silence = error
        }
        self.owner = owner
    }

    private static func ask(_ member: String, _ argument: String?, answerType: String) -> MethodCall {
        MethodCall(
            destination: ServiceOwner.bus, path: .bus, interface: ServiceOwner.bus, member: member,
            body: .tuple(argument.map { [.string($0)] } ?? []), answerType: answerType)
    }

    private static func text(_ reply: Reply) -> String? {
        guard case .answer(let body) = reply else { return nil }
        return body[0].text
    }

    private static func texts(_ reply: Reply) -> [String] {
        guard case .answer(let body) = reply else { return [] }
        return body[0].children.compactMap(\.text)
    }

    private static func process(_ reply: Reply) -> UInt32? {
        guard case .answer(let body) = reply else { return nil }
        return body[0].shortNumber
    }
}

extension ServiceInspection.Owner {
    /// Queries the service's default collection, and makes a search, in one round trip.
    fileprivate mutating func ask(
        _ name: String, over connection: BusConnection, until deadline: Deadline
    ) throws(TokenKeepError) {
        let service = "org.freedesktop.Secret.Service"
        let alias = MethodCall(
            destination: name, path: .service, interface: service, member: "ReadAlias",
            body: .tuple([.string("default")]), answerType: "(o)")
        let search = MethodCall(
            destination: name, path: .service, interface: service, member: "SearchItems",
            body: .tuple([.strings([(key: "tokenkeep:doctor", value: "")])]), answerType: "(aoao)")
        let lock = MethodCall(
            destination: name, path: .defaultCollection, interface: "org.freedesktop.DBus.Properties", member: "Get",
            body: .tuple([.string(ServiceCall.collectionInterface), .string("Locked")]), answerType: "(v)")
        let replies = try connection.exchange([alias, search, lock], until: deadline)
        // A service that refuses the queries because it is locked has answered, so this is no error.
        let isRefused = replies.contains(where: \.isLocked)
        if !isRefused {
            guard case .answer = replies[1] else { throw ServiceFailure.error(replies[1], "search", "items") }
        }
        if isRefused {
            collection = .locked
        } else if case .answer(let body) = replies[0], body[0].text == "/" {
            collection = .missing
        } else if case .answer(let body) = replies[2], let isLocked = body[0].content?.boolean {
            collection = isLocked ? .locked : .open
        }
        guard isProvider else { return }
        vaultID = try ServiceOwner.vaultID(of: name, over: connection, until: deadline)
    }
}
