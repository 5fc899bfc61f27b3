/// The name of an item: namespace, service and account, within the limits.
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The Linux form of a keychain access group; "" is the common one.
    public let namespace: String
    /// The service that the secret is for, as in `example.com` or `com.example.app`.
    public let service: String
    /// The account at the service; may be empty.
    public let account: String

    /// Checks and joins the parts of a name.
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

    /// The name of the record that keeps the pending removal of a whole service. Its service is empty, so that no item
    /// has it.
    ///
    /// - Throws: ``Status/invalid`` if a part is outside its limits.
    package init(removalOf service: String, in namespace: String) throws(TokenKeepError) {
        try Limits.check(namespace, field: "namespace", atMost: Limits.namespace)
        try Limits.check(service, field: "service", atLeast: 1, atMost: Limits.service)
        self.namespace = namespace
        self.service = ""
        self.account = service
    }

    /// The service whose removal has this name; nil for the name of an item.
    package var removedService: String? { service.isEmpty ? account : nil }

    /// The default label of an item.
    public var defaultLabel: String { "\(service) (\(account))" }

    /// `service (account)`, and the namespace unless it is empty. For messages.
    public var description: String {
        let subject = removedService.map { "every item of \($0)" } ?? defaultLabel
        return namespace.isEmpty ? subject : "\(subject) in namespace \(namespace)"
    }

    /// Whether the item is in this namespace and of this service; nil for any service. Compares bytes, like
    /// ``==(_:_:)``.
    public func isIn(namespace: String, service: String?) -> Bool {
        self.namespace.hasBytes(of: namespace) && (service.map(self.service.hasBytes) ?? true)
    }

    /// Orders by namespace, service, account.
    public static func < (left: ItemName, right: ItemName) -> Bool {
        (left.namespace, left.service, left.account) < (right.namespace, right.service, right.account)
    }

    /// Compares bytes: as in the files, canonically equivalent spellings name different items.
    public static func == (left: ItemName, right: ItemName) -> Bool {
        left.namespace.hasBytes(of: right.namespace) && left.service.hasBytes(of: right.service)
            && left.account.hasBytes(of: right.account)
    }

    /// Hashes the bytes that ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        for part in [namespace, service, account] {
            hasher.combine(part.utf8.count)
            for byte in part.utf8 { hasher.combine(byte) }
        }
    }
}
