import TokenKeepCore

extension TokenItem {
    /// The checked name of an item: namespace, service and account.
    ///
    /// Names are compared byte by byte, so two Unicode spellings of the same text name different items.
    public struct Name: Sendable, Hashable, Comparable, CustomStringConvertible {
        let core: ItemName

        init(core: ItemName) { self.core = core }

        /// Makes a name from its parts, and checks their limits.
        ///
        /// - Throws: ``TokenKeepError/Status/invalid`` if a part is outside its limits: a service has 1 to 255 bytes,
        ///   an account at most 255, a namespace at most 64, and no part may have control characters.
        public init(namespace: String = "", service: String, account: String) throws(TokenKeepError) {
            core = try convertingError { () throws(CoreError) in
                try ItemName(namespace: namespace, service: service, account: account)
            }
        }

        /// The namespace, the Linux form of a keychain access group; "" is the common namespace.
        public var namespace: String { core.namespace }
        /// The service that the secret is for, as in `example.com` or `com.example.app`.
        public var service: String { core.service }
        /// The account at the service, which may be empty.
        public var account: String { core.account }
        /// The text `service (account)`, with the namespace unless it is empty, for messages.
        public var description: String { core.description }

        /// Orders names by namespace, service and account.
        public static func < (left: Name, right: Name) -> Bool { left.core < right.core }
    }
}
