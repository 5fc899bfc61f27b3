/// What names an item: its namespace, service and account, checked against the limits.
public struct ItemName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The Linux form of a keychain access group; "" is the common one.
    public let namespace: String
    /// What the secret is for: `example.com`, `com.example.app`.
    public let service: String
    /// Whose it is; it may be empty.
    public let account: String

    /// Names an item.
    ///
    /// - Throws: ``Status/invalid`` where a part is outside its limits (see ``Limits``).
    public init(namespace: String = "", service: String, account: String) throws(TokenKeepError) {
        try Limits.check(namespace, field: "namespace", atMost: Limits.namespace)
        try Limits.check(service, field: "service", atLeast: 1, atMost: Limits.service)
        try Limits.check(account, field: "account", atMost: Limits.account)
        self.namespace = namespace
        self.service = service
        self.account = account
    }

    /// The label of an item that was saved without one.
    public var defaultLabel: String { "\(service) (\(account))" }

    /// `service (account)`, with the namespace where there is one: for messages.
    public var description: String {
        namespace.isEmpty ? defaultLabel : "\(defaultLabel) in namespace \(namespace)"
    }

    /// Whether the item is of this namespace and, unless that is nil, of this service: byte by byte, as ``==(_:_:)``.
    public func isIn(namespace: String, service: String?) -> Bool {
        self.namespace.utf8.elementsEqual(namespace.utf8)
            && (service.map { self.service.utf8.elementsEqual($0.utf8) } ?? true)
    }

    /// Orders by namespace, service, account.
    public static func < (left: ItemName, right: ItemName) -> Bool {
        (left.namespace, left.service, left.account) < (right.namespace, right.service, right.account)
    }

    /// Compares byte by byte: canonically equivalent spellings name different items, as in the files.
    public static func == (left: ItemName, right: ItemName) -> Bool {
        left.namespace.utf8.elementsEqual(right.namespace.utf8)
            && left.service.utf8.elementsEqual(right.service.utf8)
            && left.account.utf8.elementsEqual(right.account.utf8)
    }

    /// Hashes the bytes that ``==(_:_:)`` compares.
    public func hash(into hasher: inout Hasher) {
        for part in [namespace, service, account] {
            hasher.combine(part.utf8.count)
            for byte in part.utf8 { hasher.combine(byte) }
        }
    }
}
