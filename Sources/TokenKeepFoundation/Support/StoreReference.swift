import TokenKeep

/// A store that the application gave, or that the first call opens. So objects that need a store have initializers that
/// do not throw.
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

    /// The store.
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
