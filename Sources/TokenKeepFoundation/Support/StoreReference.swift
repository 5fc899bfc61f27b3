import TokenKeep

/// A reference to a store, which the application passed or which is opened by the first call.
///
/// Because the store is opened only when it is needed, initializers that take no store need not throw.
struct StoreReference: Sendable {
    private let options: TokenStore.Options
    private let opened: Guarded<TokenStore?>

    init(_ store: TokenStore) {
        options = TokenStore.Options()
        opened = Guarded(store)
    }

    init(namespace: String) {
        options = TokenStore.Options(namespace: namespace)
        opened = Guarded(nil)
    }

    /// Returns the store, and opens it at the first call.
    ///
    /// - Throws: ``TokenKeepError/Status/invalid`` if the namespace or the configured stack is malformed.
    func store() throws(TokenKeepError) -> TokenStore {
        try opened.withLock { opened throws(TokenKeepError) in
            if let opened { return opened }
            let store = try TokenStore(options)
            opened = store
            return store
        }
    }
}
