@_exported public import TokenKeepCore
import TokenKeepEngine

/// Keeps session tokens: saves, loads and clears them, in the words of the C API.
///
/// ```swift
/// let store = try TokenStore()
/// try await store.save("s3cr3t", service: "example.com", account: "ann")
/// let item = try await store.load(service: "example.com", account: "ann")
/// ```
///
/// A store may be used from any task, by several at once. Its work runs on threads of its own, so it never blocks Swift's
/// cooperative pool. Every call returns by the timeout. Memory-only items go with the store.
///
/// When the task of a call is cancelled, the call throws ``Status/cancelled`` soon, or ends as it would have where it was
/// done all the same. A save or a clear that was cancelled has happened as a whole or not at all.
public final class TokenStore: Sendable {
    let engine: Store
    private let threads = WorkerThreads(limit: 64)

    /// How to open a store.
    public struct Options: Sendable {
        /// The name of a configured stack; nil for the default. Not together with ``stackText``.
        public var stack: String?
        /// A stack given in place, a line each module.
        public var stackText: String?
        /// The namespace that the store sees.
        public var namespace: String
        /// How long a call may take; nil for 5 seconds, or 2 minutes where prompts are allowed.
        public var timeout: Duration?
        /// Whether modules may ask the user for something.
        public var isInteractive: Bool
        /// Answers what the vault asks, where prompts are allowed; called on a thread of the store's. nil: nobody does.
        public var prompt: PromptHandler?

        /// The default stack, the common namespace, five seconds a call, no prompts, unless said otherwise.
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

        /// At least 1 where a timeout is given: 0 means the default below.
        fileprivate var timeoutMilliseconds: UInt32 {
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

    /// How to save an item.
    public struct SaveOptions: Sendable {
        /// The level; nil keeps that of an existing item, else ``AccessLevel/afterFirstUnlock``.
        public var accessLevel: AccessLevel?
        /// Flags to keep with the item.
        public var flags: ItemFlags
        /// The label; nil for `SERVICE (ACCOUNT)`.
        public var label: String?
        /// Attributes by name. They replace those the item has.
        public var attributes: [String: String]
        /// When the secret ends.
        public var expiresAt: UnixTime?
        /// What must be true of the present item.
        public var precondition: SaveRequest.Precondition

        /// Everything by default unless said otherwise.
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

    /// Opens a store. Reads configuration only: no module is opened, neither bus nor network nor vault touched.
    ///
    /// - Throws: ``Status/invalid`` where an option or the stack is malformed.
    public convenience init(_ options: Options = Options()) throws(TokenKeepError) {
        try self.init(options, vaultPath: nil)
    }

    /// Opens a store whose vault is in `vaultPath`, whose bus is at `busAddress` (nil: the session's), and that no file
    /// of a stack decides about: for tests.
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

    /// Saves a secret, replacing what is there, and returns the item's version. What returns survives a crash and a loss
    /// of power, a memory-only item excepted.
    ///
    /// - Throws: ``Status/duplicate`` or ``Status/conflict`` by the precondition, ``Status/policy`` or
    ///   ``Status/unsupported`` by the level, ``Status/invalid`` where something is outside its limits (``Limits``), and
    ///   what a module cannot do.
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

    /// Saves a text's UTF-8. The String itself is not wiped: prefer ``SecretBytes`` for what was never a String.
    @discardableResult
    public func save(
        _ secret: String, service: String, account: String, options: SaveOptions = SaveOptions()
    ) async throws(TokenKeepError) -> UInt64 {
        try await save(SecretBytes(secret), service: service, account: account, options: options)
    }

    /// Loads an item. An expired one is loaded like any other.
    ///
    /// - Throws: ``Status/notFound`` where every place that could hold it answered that it has none; otherwise the worst
    ///   failure met.
    public func load(service: String, account: String) async throws(TokenKeepError) -> TokenItem {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.load(service: service, account: account, until: deadline)
        }
    }

    /// Clears an item, wherever it is. Clearing what is not there is no error.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    public func clear(service: String, account: String) async throws(TokenKeepError) -> Bool {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.clear(service: service, account: account, until: deadline)
        }
    }

    /// Clears an item if it still has `version`.
    ///
    /// - Throws: ``Status/conflict`` where it changed or is gone, ``Status/invalid`` for version 0.
    public func clear(service: String, account: String, ifVersion version: UInt64) async throws(TokenKeepError) {
        try await run { engine, deadline throws(TokenKeepError) in
            try engine.clear(service: service, account: account, ifVersion: version, until: deadline)
        }
    }

    /// Clears every item of a service and returns how many there were.
    ///
    /// - Throws: what kept an item from being cleared or read; whatever could be cleared is.
    @discardableResult
    public func clear(service: String) async throws(TokenKeepError) -> Int {
        try await run { engine, deadline throws(TokenKeepError) in try engine.clear(service: service, until: deadline) }
    }

    /// Lists the items of a service, or of all services for nil, without their secrets.
    ///
    /// - Throws: where no module answered. What could not be asked or read is the listing's problem.
    public func list(service: String? = nil) async throws(TokenKeepError) -> ItemListing {
        try await run { engine, deadline throws(TokenKeepError) in try engine.list(service: service, until: deadline) }
    }

    /// Settles what the store still owes to modules of its stack on this machine, for items of every namespace.
    ///
    /// A save or clear that could not reach a module is recorded and made good when the module answers again: by a load
    /// or save of the item, or by this call for all. What cannot be settled within the store's timeout is left.
    ///
    /// - Throws: why the records cannot be read.
    @discardableResult
    public func sync() async throws(TokenKeepError) -> SyncOutcome {
        try await run { engine, deadline throws(TokenKeepError) in try engine.sync(until: deadline) }
    }

    func run<Value: Sendable>(
        _ body: @escaping @Sendable (Store, Deadline) throws(TokenKeepError) -> Value
    ) async throws(TokenKeepError) -> Value {
        // In a child made by fork() the threads are gone: the engine says so without them.
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
