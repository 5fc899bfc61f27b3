@_exported public import TokenKeepCore
import TokenKeepEngine

/// Saves, loads and clears session tokens, with the names of the C API.
///
/// ```swift
/// let store = try TokenStore()
/// try await store.save("s3cr3t", service: "example.com", account: "ann")
/// let item = try await store.load(service: "example.com", account: "ann")
/// ```
///
/// Any task may use a store, several at once. A store has its own threads and never blocks Swift's cooperative pool.
/// Every call returns by the timeout. Memory-only items live as long as the store.
///
/// If the task of a call is cancelled, the call soon throws ``Status/cancelled``, or returns its result if the work was
/// already done. A cancelled save or clear happens as a whole or not at all.
public final class TokenStore: Sendable {
    let engine: Store
    private let threads = WorkerThreads(limit: 64)

    /// The options for opening a store.
    public struct Options: Sendable {
        /// The name of a configured stack; nil for the default. Excludes ``stackText``.
        public var stack: String?
        /// The text of a stack, with one line for each module. Excludes ``stack``.
        public var stackText: String?
        /// The namespace of the store's items.
        public var namespace: String
        /// The time limit of each call; nil for 5 seconds, or for 2 minutes if prompts are allowed.
        public var timeout: Duration?
        /// Whether modules may prompt the user.
        public var isInteractive: Bool
        /// Answers the vault's prompts if ``isInteractive`` is true; nil leaves the prompts unanswered.
        ///
        /// The store calls the handler on one of its own threads.
        public var prompt: PromptHandler?

        /// Makes options for a store.
        ///
        /// The defaults are the default stack, the common namespace, 5 seconds for each call and no prompts.
        public init(
            stack: String? = nil, stackText: String? = nil, namespace: String = "", timeout: Duration? = nil,
            isInteractive: Bool = false, prompt: PromptHandler? = nil
        ) {
            self.stack = stack
            self.stackText = stackText
            self.namespace = namespace
            self.timeout = timeout
            self.isInteractive = isInteractive
            self.prompt = prompt
        }

        /// The timeout for the engine; 0 for the engine's default. A given timeout is at least 1.
        package var timeoutMilliseconds: UInt32 {
            guard let timeout else { return 0 }
            let (seconds, attoseconds) = timeout.components
            let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
            guard !overflow else { return seconds < 0 ? 1 : .max }
            return max(
                1,
                UInt32(clamping: milliseconds.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue)
            )
        }
    }

    /// The options of a save.
    public struct SaveOptions: Sendable {
        /// The level; nil keeps an existing item's level. A new item then gets ``AccessLevel/afterFirstUnlock``.
        public var accessLevel: AccessLevel?
        /// The flags that are kept with the item.
        public var flags: ItemFlags
        /// The label; nil for `SERVICE (ACCOUNT)`.
        public var label: String?
        /// The attributes by name, which replace all attributes of an existing item.
        public var attributes: [String: String]
        /// The time when the secret expires; nil for never.
        public var expiresAt: UnixTime?
        /// The condition that the existing item must meet; otherwise the save fails.
        public var precondition: SaveRequest.Precondition

        /// Makes options for a save; an option that is left out has its default.
        public init(
            accessLevel: AccessLevel? = nil, flags: ItemFlags = [], label: String? = nil,
            attributes: [String: String] = [:], expiresAt: UnixTime? = nil,
            precondition: SaveRequest.Precondition = .none
        ) {
            self.accessLevel = accessLevel
            self.flags = flags
            self.label = label
            self.attributes = attributes
            self.expiresAt = expiresAt
            self.precondition = precondition
        }
    }

    /// Opens a store.
    ///
    /// Reads the configuration. Opens no module and touches neither bus nor network nor vault.
    ///
    /// - Throws: ``Status/invalid`` if an option or the stack is malformed.
    public convenience init(_ options: Options = Options()) throws(TokenKeepError) {
        try self.init(options, vaultPath: nil)
    }

    /// Opens a store with its own vault and bus, for tests.
    ///
    /// - Parameters:
    ///   - vaultPath: the path of the vault. If the path is not nil, the store reads no stack files.
    ///   - busAddress: the address of the bus; nil for the session bus.
    package init(_ options: Options, vaultPath: String?, busAddress: String? = nil) throws(TokenKeepError) {
        var configuration = StoreConfiguration(
            stack: options.stack, stackText: options.stackText, namespace: options.namespace,
            timeoutMilliseconds: options.timeoutMilliseconds, isInteractive: options.isInteractive)
        configuration.prompt = options.prompt
        configuration.vaultPath = vaultPath
        configuration.busAddress = busAddress
        if vaultPath != nil { configuration.stackDirectories = .none }
        engine = try Store(configuration)
    }

    /// Saves a secret, replacing an existing item, and returns the item's version.
    ///
    /// When the call returns, the item survives a crash and a loss of power, unless the item is memory-only.
    ///
    /// - Throws: ``Status/duplicate`` or ``Status/conflict`` by the precondition, ``Status/policy`` or
    ///   ``Status/unsupported`` by the level, ``Status/invalid`` if an argument is outside its limits (``Limits``), or
    ///   the failure of a module.
    @discardableResult
    public func save(
        _ secret: SecretBytes, service: String, account: String, options: SaveOptions = SaveOptions()
    ) async throws(TokenKeepError) -> UInt64 {
        try await run { engine, deadline throws(TokenKeepError) in
            let request = try SaveRequest(
                name: ItemName(namespace: engine.namespace, service: service, account: account), secret: secret,
                accessLevel: options.accessLevel, flags: options.flags, label: options.label,
                attributes: ItemAttributes(options.attributes.map { ($0.key, $0.value) }),
                expiresAt: options.expiresAt, precondition: options.precondition)
            return try engine.save(request, until: deadline).version
        }
    }

    /// Saves the UTF-8 bytes of a text.
    ///
    /// The String itself is not wiped: prefer ``SecretBytes`` for a secret that was never a String.
    @discardableResult
    public func save(
        _ secret: String, service: String, account: String, options: SaveOptions = SaveOptions()
    ) async throws(TokenKeepError) -> UInt64 {
        try await save(SecretBytes(secret), service: service, account: account, options: options)
    }

    /// Loads an item, expired or not.
    ///
    /// - Throws: ``Status/notFound`` if every module that could hold the item answered that the item is missing;
    ///   otherwise the worst failure of a module.
    public func load(service: String, account: String) async throws(TokenKeepError) -> TokenItem {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.load(service: service, account: account, until: deadline)
        }
    }

    /// Clears an item from every module. Clearing a missing item is no error.
    ///
    /// - Returns: whether the item existed.
    @discardableResult
    public func clear(service: String, account: String) async throws(TokenKeepError) -> Bool {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.clear(service: service, account: account, until: deadline)
        }
    }

    /// Clears an item if its version is still `version`.
    ///
    /// - Throws: ``Status/conflict`` if the item changed or is gone, ``Status/invalid`` for version 0.
    public func clear(service: String, account: String, ifVersion version: UInt64) async throws(TokenKeepError) {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.clear(service: service, account: account, ifVersion: version, until: deadline)
        }
    }

    /// Clears every item of a service and returns the number of these items.
    ///
    /// - Throws: the failure that kept an item from being read or cleared. All other items are cleared even then.
    @discardableResult
    public func clear(service: String) async throws(TokenKeepError) -> Int {
        try await run { engine, deadline throws(TokenKeepError) in try engine.clear(service: service, until: deadline) }
    }

    /// Lists the items of a service, or of all services for nil, without their secrets.
    ///
    /// - Throws: the failure if no module answered. If only a part of the store cannot be read, the listing's `problem`
    ///   names that part.
    public func list(service: String? = nil) async throws(TokenKeepError) -> ItemListing {
        try await run { engine, deadline throws(TokenKeepError) in try engine.list(service: service, until: deadline) }
    }

    /// Drains the pending writes and removals of the stack's modules on this machine, for items of every namespace.
    ///
    /// The store records every save or clear that a module missed. A load, save or clear of an item drains the pending
    /// changes of this item; `sync()` drains all items. An item that cannot be drained within the store's timeout stays
    /// pending.
    ///
    /// - Throws: the failure if the records cannot be read.
    @discardableResult
    public func sync() async throws(TokenKeepError) -> SyncOutcome {
        try await run { engine, deadline throws(TokenKeepError) in try engine.sync(until: deadline) }
    }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Deadline) throws(TokenKeepError) -> Value
    ) async throws(TokenKeepError) -> Value {
        // A child made by fork() has no threads: the engine throws the error on the caller's thread.
        guard engine.isUsable else { return try body(engine, Deadline(milliseconds: 0)) }
        let cancellation = Cancellation(under: engine.cancellation)
        let deadline = engine.deadline.cancelled(by: cancellation)
        let engine = engine
        let queued = QueuedCall<Value>()
        let result: Result<Value, TokenKeepError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard queued.wait(continuation) else { return continuation.resume(returning: QueuedCall.cancelled) }
                let job: @Sendable () -> Void = {
                    guard let continuation = queued.take() else { return }
                    do throws(TokenKeepError) {
                        continuation.resume(returning: .success(try body(engine, deadline)))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
                if !threads.run(job) {
                    queued.take()?.resume(
                        returning: .failure(TokenKeepError(.io, "no thread could be started for the call")))
                }
            }
        } onCancel: {
            cancellation.cancel()
            queued.take()?.resume(returning: QueuedCall.cancelled)
        }
        return try result.get()
    }
}
