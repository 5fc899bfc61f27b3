import TokenKeepCore
import TokenKeepEngine
import TokenKeepOAuth
import TokenKeepSession
import TokenKeepTerminal

/// Finds, saves and erases a store's credentials for the protocols.
struct CredentialStore {
    private let store: Store
    private let sessionTimeout: UInt32?

    /// Opens the store that the command line configures.
    init(_ invocation: Invocation, namespace: String? = nil) throws(TokenKeepError) {
        store = try invocation.store(namespace: namespace)
        // Never release the store, because the process ends soon, and the kernel then closes the store's connections
        // faster than a release would.
        _ = Unmanaged.passRetained(store)
        sessionTimeout = invocation.timeoutMilliseconds
    }

    // MARK: Finding

    /// Returns the credential of an account or, if `account` is nil, of the account that was saved last; nil if there
    /// is no such credential.
    ///
    /// - Throws: ``Status/locked``, ``Status/unavailable`` and other errors if a module that may have the credential
    ///   did not answer; ``Status/needsLogin`` if the account's session has ended.
    func credential(of service: String, _ account: String?) throws(TokenKeepError) -> Credential? {
        guard let item = try item(of: service, account) else { return nil }
        guard SessionRecord.isRecord(item.secret) else {
            return Credential(
                details: item.details, secret: item.secret, expiresAt: item.details.expiresAt, isSession: false)
        }
        let token = try session(of: item.details.name).token()
        let end = token.secondsLeft.map { UnixTime(UnixTime.now.rawValue + $0) }
        return Credential(details: item.details, secret: token.value, expiresAt: end, isSession: true)
    }

    /// Lists the items of services that begin with `prefix`, without their secrets.
    ///
    /// - Throws: the error of a module that did not answer, even if other modules answered.
    func details(ofServicesWith prefix: String) throws(TokenKeepError) -> [ItemDetails] {
        let listing = try listing(nil)
        if let problem = listing.problem { throw problem }
        return listing.items.filter { $0.name.service.hasPrefix(prefix) }
    }

    private func item(of service: String, _ account: String?) throws(TokenKeepError) -> TokenItem? {
        if let account { return try load(service, account) }
        let listing = try listing(service)
        for details in listing.items.sorted(by: SaveOrder.isNewer) {
            // Another process may have cleared the newest item since the list was made, so try the next item.
            if let item = try load(service, details.name.account) { return item }
        }
        if let problem = listing.problem { throw problem }
        return nil
    }

    private func load(_ service: String, _ account: String) throws(TokenKeepError) -> TokenItem? {
        do throws(TokenKeepError) {
            return try store.load(service: service, account: account)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// Lists items. If the vault or a keyring is locked and prompts are allowed, prompts the user to unlock it, as a
    /// load does, and lists the items again.
    private func listing(_ service: String?) throws(TokenKeepError) -> ItemListing {
        let deadline = store.deadline
        do throws(TokenKeepError) {
            let listing = try store.list(service: service, until: deadline)
            guard let found = listing.problems.first(where: { $0.status == .locked }) else { return listing }
            guard try asksToOpen(service, after: found, deadline) else { return listing }
        } catch {
            guard error.status == .locked, try asksToOpen(service, after: error, deadline) else { throw error }
        }
        return try store.list(service: service, until: deadline)
    }

    private func asksToOpen(
        _ service: String?, after error: TokenKeepError, _ deadline: Deadline
    ) throws(TokenKeepError) -> Bool {
        let name = try ItemName(namespace: store.namespace, service: service ?? "tokenkeep", account: "")
        return try store.askToOpen(name, after: error, until: deadline)
    }

    // MARK: Keeping

    /// Saves a credential, unless the account already has the same credential.
    ///
    /// - Throws: ``Status/duplicate`` if the account has a session with another token.
    func save(
        _ secret: SecretBytes, of service: String, _ account: String, attributes: ItemAttributes = .none,
        expiresAt: UnixTime? = nil
    ) throws(TokenKeepError) {
        let name = try ItemName(namespace: store.namespace, service: service, account: account)
        if let present = try? store.load(service: service, account: account) {
            if SessionRecord.isRecord(present.secret) { return try keepSession(of: name, given: secret) }
            let isSame = try SaveOrder.removed(from: present.details.attributes) == attributes
            if isSame, present.secret == secret, present.details.expiresAt == expiresAt { return }
        }
        let others = try? store.list(service: service, until: store.deadline).items
        let attributes = try SaveOrder.attributes(attributes, of: name, after: others ?? [])
        _ = try store.save(
            SaveRequest(name: name, secret: secret, attributes: attributes, expiresAt: expiresAt))
    }

    /// Leaves a session unchanged if `secret` is the session's token, which an earlier `get` returned. Otherwise throws
    /// ``Status/duplicate``.
    private func keepSession(of name: ItemName, given secret: SecretBytes) throws(TokenKeepError) {
        if try session(of: name).token().value == secret { return }
        throw TokenKeepError(
            .duplicate, "\(name) has a session, which stays", hint: "end it first: tokenkeep session logout")
    }

    // MARK: Erasing

    /// Erases the refused credentials of an account or, if `account` is nil, of all accounts of the service.
    ///
    /// A session is not erased. If its token was refused, the token is renewed. An item that another process has saved
    /// meanwhile stays.
    ///
    /// - Parameter isRefused: whether the server refused the credential.
    func erase(
        _ service: String, _ account: String?, where isRefused: (Credential) throws(TokenKeepError) -> Bool
    ) throws(TokenKeepError) {
        for name in try names(of: service, account) {
            guard let item = try load(name.service, name.account) else { continue }
            if SessionRecord.isRecord(item.secret) {
                try renew(name, where: isRefused)
            } else {
                let credential = Credential(
                    details: item.details, secret: item.secret, expiresAt: item.details.expiresAt, isSession: false)
                if try isRefused(credential) { try clear(item.details) }
            }
        }
    }

    /// Signs the user out of a service: clears the credentials of all accounts, and ends their sessions.
    ///
    /// - Returns: whether there was a credential to clear or a session to end.
    func signOut(_ service: String) throws(TokenKeepError) -> Bool {
        var found = false
        for name in try names(of: service, nil) {
            guard let item = try load(name.service, name.account) else { continue }
            found = true
            try signOut(item)
        }
        return found
    }

    /// The present items of a service, without their secrets; empty if they cannot be listed.
    func details(of service: String) -> [ItemDetails] { (try? listing(service))?.items ?? [] }

    /// Signs the user out of the other accounts of a service that were there before, or that are older than the account.
    ///
    /// An account that another process has saved since stays, so that of two processes that save at once the later keeps
    /// its account.
    ///
    /// - Parameter before: the items of the service before the account was saved.
    func signOut(_ service: String, otherThan account: String, before: [ItemDetails]) throws(TokenKeepError) {
        let listing = try listing(service)
        let own = listing.items.first { $0.name.account == account }
        for details in listing.items where details.name.account != account {
            let wasThere = before.contains { CredentialStore.isSame($0, details) }
            guard wasThere || own.map({ SaveOrder.isNewer($0, details) }) == true,
                let item = try load(service, details.name.account), item.details.modifiedAt == details.modifiedAt
            else { continue }
            try signOut(item)
        }
        if let problem = listing.problem { throw problem }
    }

    /// Whether two listings have the same version of an item, as far as they tell.
    private static func isSame(_ left: ItemDetails, _ right: ItemDetails) -> Bool {
        left.name == right.name && left.version == right.version && left.modifiedAt == right.modifiedAt
    }

    private func signOut(_ item: TokenItem) throws(TokenKeepError) {
        if SessionRecord.isRecord(item.secret) {
            _ = try session(of: item.details.name).end()
        } else {
            try clear(item.details)
        }
    }

    private func names(of service: String, _ account: String?) throws(TokenKeepError) -> [ItemName] {
        if let account { return [try ItemName(namespace: store.namespace, service: service, account: account)] }
        let listing = try listing(service)
        if let problem = listing.problem { throw problem }
        return listing.items.map(\.name)
    }

    private func clear(_ details: ItemDetails) throws(TokenKeepError) {
        let name = details.name
        do throws(TokenKeepError) {
            try store.clear(service: name.service, account: name.account, ifVersion: details.version)
        } catch {
            // A conflict is no failure: another process has meanwhile cleared the item, or has saved a new version,
            // which stays.
            guard error.status == .conflict else { throw error }
        }
    }

    // MARK: Sessions

    private func session(of name: ItemName) throws(TokenKeepError) -> SessionEngine {
        var options = SessionOptions()
        try options.useProviders()
        if let sessionTimeout { options.timeoutMilliseconds = sessionTimeout }
        options.whileSending = { isSending in isSending ? HeldSignals.hold() : HeldSignals.release() }
        return try SessionEngine(store, service: name.service, account: name.account, options)
    }

    private func renew(
        _ name: ItemName, where isRefused: (Credential) throws(TokenKeepError) -> Bool
    ) throws(TokenKeepError) {
        let session = try session(of: name)
        let token = try session.token()
        let details = ItemDetails(name: name, label: "", module: "")
        let credential = Credential(details: details, secret: token.value, expiresAt: nil, isSession: true)
        if try isRefused(credential) { _ = try session.rejected(token.value) }
    }
}
