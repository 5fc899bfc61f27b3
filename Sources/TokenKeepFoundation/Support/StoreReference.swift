import TokenKeep

/// A store that the application passed, or that the first call opens.
///
/// Because the store is opened later, the initializers of objects that need a store do not throw.
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
