/// The name of an item: namespace, service and account, with checked lengths and characters.
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The group of applications that share the item, like a keychain access group; "" is the common group.
    public let namespace: String
    /// The service that the secret is for, for example `example.com` or `com.example.app`.
    public let service: String
    /// The user's account at the service. May be empty.
    public let account: String

    /// The service name of every item of an offline queue. A migration does not move these items out of the vault.
    package static let queueService = "org.tokenkeep.queue"

    /// Makes a name, after checking each part.
    ///
    /// - Throws: ``Status/invalid`` if a part is outside its limits (see ``Limits``).
    public init(namespace: String = "", service: String, account: String) throws(TokenKeepError) {
        try Limits.check(namespace, field: "namespace", atMost: Limits.namespace)
        try Limits.check(service, field: "service", atLeast: 1, atMost: Limits.service)
        try Limits.check(account, field: "account", atMost: Limits.account)
        self.namespace = namespace
        self.service = service
        self.account = account
    }

    /// Makes the name of the record of a pending service removal.
    ///
    /// The record says that all items of a service must still be removed from a module. Its name has an empty service,
    /// unlike the name of any item.
    ///
    /// - Throws: ``Status/invalid`` if a part is outside its limits.
    package init(removalOf service: String, in namespace: String) throws(TokenKeepError) {
        try Limits.check(namespace, field: "namespace", atMost: Limits.namespace)
        try Limits.check(service, field: "service", atLeast: 1, atMost: Limits.service)
        self.namespace = namespace
        self.service = ""
        self.account = service
    }

    /// The service whose items are to be removed, if ``init(removalOf:in:)`` made this name; nil in the name of an
    /// item.
    package var removedService: String? { service.isEmpty ? account : nil }

    /// The label of an item that is saved without a label.
    public var defaultLabel: String { "\(service) (\(account))" }

    /// `service (account)`, followed by the namespace unless it is empty. For messages.
    public var description: String {
        let subject = removedService.map { "every item of \($0)" } ?? defaultLabel
        return namespace.isEmpty ? subject : "\(subject) in namespace \(namespace)"
    }

    /// Whether the item is in this namespace and has this service. A nil `service` stands for any service.
    ///
    /// Texts are compared by their bytes.
    public func isIn(namespace: String, service: String?) -> Bool {
        self.namespace.hasBytes(of: namespace) && (service.map(self.service.hasBytes) ?? true)
    }

    /// Orders names by namespace, then service, then account.
    public static func < (left: ItemName, right: ItemName) -> Bool {
        (left.namespace, left.service, left.account) < (right.namespace, right.service, right.account)
    }

    /// Compares the bytes of the parts: two Unicode spellings of the same text are different names.
    public static func == (left: ItemName, right: ItemName) -> Bool {
        left.namespace.hasBytes(of: right.namespace) && left.service.hasBytes(of: right.service)
            && left.account.hasBytes(of: right.account)
    }

    /// Hashes the bytes of the name's parts.
    public func hash(into hasher: inout Hasher) {
        for part in [namespace, service, account] {
            hasher.combine(part.utf8.count)
            for byte in part.utf8 { hasher.combine(byte) }
        }
    }
}
