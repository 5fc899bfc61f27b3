import TestSupport
package import TokenKeepCore
package import TokenKeepEngine
package import TokenKeepRecords

/// The name of an item of the tests' service, example.com.
package func name(_ account: String = "ann", namespace: String = "") throws(TokenKeepError) -> ItemName {
    try ItemName(namespace: namespace, service: "example.com", account: account)
}

extension Store {
    /// Saves an item in the store's namespace.
    @discardableResult
    package func put(
        _ secret: String, _ account: String = "ann", service: String = "example.com",
        if precondition: SaveRequest.Precondition = .none, level: AccessLevel? = nil, flags: ItemFlags = [],
        label: String? = nil, attributes: ItemAttributes = .none, expiresAt: UnixTime? = nil
    ) throws(TokenKeepError) -> SaveOutcome {
        try save(
            SaveRequest(
                name: ItemName(namespace: namespace, service: service, account: account),
                secret: SecretBytes(secret), accessLevel: level, flags: flags, label: label,
                attributes: attributes, expiresAt: expiresAt, precondition: precondition))
    }

    /// Loads an item; nil if there is none.
    package func item(_ account: String = "ann", service: String = "example.com") throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try load(service: service, account: account)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// Loads an item's secret; nil if there is no item.
    package func value(_ account: String = "ann", service: String = "example.com") throws(TokenKeepError) -> String? {
        try item(account, service: service)?.secret.utf8String
    }
}

extension VaultModule {
    /// Saves an item, with the patience of the tests.
    @discardableResult
    package func put(_ secret: String, _ account: String = "ann") throws(TokenKeepError) -> UInt64 {
        try save(SaveRequest(name: VaultModule.named(account), secret: SecretBytes(secret)), .patient)
    }

    /// Loads an item's secret, with the patience of the tests.
    package func value(_ account: String = "ann") throws(TokenKeepError) -> String? {
        try load(VaultModule.named(account), .patient).secret.utf8String
    }

    private static func named(_ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(service: "example.com", account: account)
    }
}
