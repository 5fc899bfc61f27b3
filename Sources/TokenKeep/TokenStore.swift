import TokenKeepCore
import TokenKeepEngine
package import TokenKeepKeys

/// Saves, loads and clears session tokens and other secrets. The methods have the names of the C API's functions.
///
/// ```swift
/// let store = try TokenStore()
/// try await store.save("s3cr3t", service: "example.com", account: "ann")
/// let item = try await store.load(service: "example.com", account: "ann")
/// ```
///
/// Several tasks may use a store at the same time. A store has its own threads and never blocks Swift's cooperative
/// pool. Every call returns before its timeout. Memory-only items exist as long as the store.
///
/// The limits of an item: a service has 1 to 255 bytes, an account at most 255, a namespace at most 64, a label at most
/// 1024, a secret at most 1 MiB; at most 32 attributes, with names of at most 64 bytes of `[a-z0-9._-]` and values of at
/// most 1024 bytes. Nothing is ever truncated.
///
/// Asynchronous calls throw two errors: ``TokenKeepError``, and `CancellationError` if the task of the call is
/// cancelled. A cancelled call throws soon, or returns its result if the work was already done. A cancelled save or
/// clear is executed either as a whole or not at all. ``TokenKeepError/Status/cancelled`` means that the user dismissed
/// a prompt.
public final class TokenStore: Sendable {
    /// The version of the library, for example `0.1.0`.
    public static var libraryVersion: String { TokenKeepVersion.string }

    let engine: Store
    let threads = WorkerThreads(limit: 64)

    /// Opens a store.
    ///
    /// Reads only the configuration. Opens no module, and accesses neither bus nor network nor vault.
    ///
    /// - Throws: ``TokenKeepError/Status/invalid`` if an option or the stack is malformed,
    ///   ``TokenKeepError/Status/denied`` if another user may write to a file of the stack or to its directory.
    public convenience init(_ options: Options = Options()) throws(TokenKeepError) {
        try self.init(options, vaultPath: nil)
    }

    /// Opens a store with its own vault and bus, for tests.
    ///
    /// - Parameters:
    ///   - vaultPath: the path of the vault. If the path is not nil, the store reads no stack files.
    ///   - busAddress: the address of the bus; nil for the session bus.
    ///   - residentKeys: the key store that holds the keys of the unlocked vault, and the machine's devices; nil for
    ///     the default.
    package init(
        _ options: Options, vaultPath: String?, busAddress: String? = nil, residentKeys: ClassKeyStore? = nil
    ) throws(TokenKeepError) {
        var configuration = StoreConfiguration(
            stack: options.stack, stackText: options.stackText, namespace: options.namespace,
            timeoutMilliseconds: options.timeoutMilliseconds, isInteractive: options.isInteractive)
        configuration.prompt = options.prompt.map(TokenStore.engineHandler)
        configuration.vaultPath = vaultPath
        configuration.busAddress = busAddress
        configuration.residentKeys = residentKeys
        if vaultPath != nil { configuration.stackDirectories = .none }
        engine = try convertingError { () throws(CoreError) in try Store(configuration) }
    }

    /// Saves a secret, replacing an existing item, and returns the item's version.
    ///
    /// When the call returns, the item survives a crash and a loss of power, unless the item is memory-only.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/duplicate`` or ``TokenKeepError/Status/conflict`` if
    ///   the precondition is not met, ``TokenKeepError/Status/policy`` or ``TokenKeepError/Status/unsupported`` if the
    ///   level is refused or impossible, ``TokenKeepError/Status/invalid`` if an argument is outside its limits,
    ///   ``TokenKeepError/Status/locked`` if the item's module or class key is locked,
    ///   ``TokenKeepError/Status/unavailable`` if no module can store the item, or another failure of a module.
    ///   `CancellationError` if the task is cancelled.
    @discardableResult
    public func save(
        _ secret: Secret, service: String, account: String, options: SaveOptions = SaveOptions()
    ) async throws -> UInt64 {
        try await run { engine, deadline throws(CoreError) in
            var request = try SaveRequest(
                name: ItemName(namespace: engine.namespace, service: service, account: account), secret: secret.core,
                accessLevel: options.accessibility?.core, flags: options.flags.core, label: options.label,
                attributes: ItemAttributes(options.attributes.map { ($0.key, $0.value) }),
                expiresAt: options.expirySecond(), precondition: options.precondition.core)
            request.keepsWhenLocked = options.keepsWhenLocked
            return try engine.save(request, until: deadline).version
        }
    }

    /// Saves the UTF-8 bytes of a text.
    ///
    /// The String itself is not wiped. For a secret that is not a String yet, use ``Secret`` instead.
    ///
    /// - Throws: the errors of saving a ``Secret``; ``TokenKeepError/Status/io`` if guarded memory is exhausted.
    @discardableResult
    public func save(
        _ secret: String, service: String, account: String, options: SaveOptions = SaveOptions()
    ) async throws -> UInt64 {
        try await save(Secret(secret), service: service, account: account, options: options)
    }

    /// Loads an item, even if it has expired.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/notFound`` if every module that could hold the item
    ///   answered that the item is missing; otherwise the worst failure of a module: ``TokenKeepError/Status/locked``,
    ///   ``TokenKeepError/Status/unavailable``, ``TokenKeepError/Status/corrupt`` if the item is damaged, and others.
    ///   `CancellationError` if the task is cancelled.
    public func load(service: String, account: String) async throws -> TokenItem {
        try await run { engine, deadline throws(CoreError) in
            TokenItem(try engine.load(service: service, account: account, until: deadline))
        }
    }

    /// Clears an item from every module. Clearing a missing item is not an error.
    ///
    /// - Returns: whether the item existed.
    /// - Throws: ``TokenKeepError`` if a module failed and the vault cannot store a pending removal:
    ///   ``TokenKeepError/Status/unavailable``, ``TokenKeepError/Status/locked``, ``TokenKeepError/Status/denied``.
    ///   `CancellationError` if the task is cancelled.
    @discardableResult
    public func clear(service: String, account: String) async throws -> Bool {
        try await run { engine, deadline throws(CoreError) in
            try engine.clear(service: service, account: account, until: deadline)
        }
    }

    /// Clears an item if its version is still `version`.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/conflict`` if the item was changed or no longer
    ///   exists, ``TokenKeepError/Status/invalid`` for version 0, or the failure of a module that may hold the item:
    ///   ``TokenKeepError/Status/unavailable``, ``TokenKeepError/Status/locked`` and others. `CancellationError` if the
    ///   task is cancelled.
    public func clear(service: String, account: String, ifVersion version: UInt64) async throws {
        try await run { engine, deadline throws(CoreError) in
            try engine.clear(service: service, account: account, ifVersion: version, until: deadline)
        }
    }

    /// Clears every item of a service. Returns the number of cleared items.
    ///
    /// - Throws: ``TokenKeepError`` if an item could not be read or cleared. All other items are cleared nevertheless.
    ///   `CancellationError` if the task is cancelled.
    @discardableResult
    public func clear(service: String) async throws -> Int {
        try await run { engine, deadline throws(CoreError) in try engine.clear(service: service, until: deadline) }
    }

    /// Lists the items of a service, or of all services if `service` is nil, without their secrets.
    ///
    /// - Throws: ``TokenKeepError`` with the worst status of the modules, such as ``TokenKeepError/Status/locked`` or
    ///   ``TokenKeepError/Status/unavailable``, if no module answered. If only a part of the store cannot be read, the listing's
    ///   ``Listing/problem`` names that part. `CancellationError` if the task is cancelled.
    public func list(service: String? = nil) async throws -> Listing {
        try await run { engine, deadline throws(CoreError) in
            Listing(try engine.list(service: service, until: deadline))
        }
    }

    /// Drains the pending writes and removals of the stack's modules on this machine, for items of every namespace.
    ///
    /// The store records every save or clear that a module missed. A load, save or clear of an item drains the pending
    /// changes of this item; `sync()` drains all items. An item that cannot be drained within the store's timeout stays
    /// pending.
    ///
    /// - Throws: ``TokenKeepError`` with ``TokenKeepError/Status/corrupt``, ``TokenKeepError/Status/denied`` or
    ///   ``TokenKeepError/Status/io`` if the vault's records cannot be read. `CancellationError` if the task is cancelled.
    @discardableResult
    public func sync() async throws -> SyncOutcome {
        try await run { engine, deadline throws(CoreError) in
            SyncOutcome(try engine.pendingChanges.sync(until: deadline))
        }
    }
}
