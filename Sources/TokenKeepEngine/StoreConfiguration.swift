public import TokenKeepCore
package import TokenKeepKeys
package import TokenKeepRecords

/// Provides the key that computes item versions.
package typealias VersionKeyProvider = @Sendable () throws(TokenKeepError) -> ItemVersionKey

/// Provides the vault's password without a prompt.
package typealias PasswordProvider = @Sendable () throws(TokenKeepError) -> SecretBytes

/// The options for opening a store.
public struct StoreConfiguration: Sendable {
    /// The name of a configured stack; nil for `default`. Must be nil if ``stackText`` is given.
    public var stack: String?
    /// The text of a stack, instead of a configured stack; nil to use ``stack``.
    public var stackText: String?
    /// The namespace of the items that the store handles.
    public var namespace: String
    /// The timeout of a call in milliseconds. 0 means 5000, or 120000 if prompts are allowed.
    public var timeoutMilliseconds: UInt32
    /// The timeout, in milliseconds, of work that may take long: a change of keys, an import, an export, draining all
    /// changes.
    package var longTimeoutMilliseconds = UInt32.max
    /// Whether the store may show prompts to the user.
    public var isInteractive: Bool
    /// Answers TokenKeep's own prompts, if prompts are allowed; nil if the program cannot answer prompts.
    public var prompt: PromptHandler?
    /// Provides the vault's password without asking the user, even if the store may not show prompts.
    ///
    /// If this is nil, ``prompt`` asks for the password.
    package var password: PasswordProvider?
    /// The path of the vault, for tests; nil for the user's vault.
    package var vaultPath: String?
    /// Stores the keys of an unlocked vault; nil to use the kernel's keyring if possible.
    package var residentKeys: ClassKeyStore?
    /// The address of a message bus to use instead of the session's bus, for tests.
    package var busAddress: String?
    /// Functions that make replacement modules for tests, by module name. Each receives the provider of version keys.
    package var standIns: [String: @Sendable (@escaping VersionKeyProvider) -> any Module] = [:]
    /// Provides the present time, which a pending change records. Replaced in tests.
    package var clock: @Sendable () -> UnixTime = { .now }
    /// Provides the state of the machine's clocks, which a pending change records. Replaced in tests.
    package var clocks: @Sendable () -> ClockMark = { .now }
    /// The costs of deriving keys from new passwords. Tests use lower costs.
    package var passwordCosts = PasswordCosts.standard
    /// The directories in which stack files are searched.
    package var stackDirectories = StackDirectories.standard
    /// The path of a stack file to use instead of ``stack``, with the same checks; nil to use ``stack``.
    package var stackFile: String?
    /// Receives an event for each module's answer. If this is nil and the environment has `TOKENKEEP_DEBUG=1`, the
    /// events are written to standard error.
    package var trace: StackTraceHandler?

    /// Creates a configuration. By default: the default stack, the empty namespace, five seconds, no prompts.
    public init(
        stack: String? = nil, stackText: String? = nil, namespace: String = "", timeoutMilliseconds: UInt32 = 0,
        isInteractive: Bool = false
    ) {
        self.stack = stack
        self.stackText = stackText
        self.namespace = namespace
        self.timeoutMilliseconds = timeoutMilliseconds
        self.isInteractive = isInteractive
    }

    /// Reads the configured stack, with the stacks that it includes. Opening a store reads no other file.
    package func readStack() throws(TokenKeepError) -> Stack {
        if let stackFile { return try Stack(path: stackFile, directories: stackDirectories) }
        guard let stackText else { return try Stack(name: stack ?? "default", directories: stackDirectories) }
        guard stack == nil else { throw TokenKeepError(.invalid, "both stack and stack_text are given") }
        return try Stack(text: stackText, source: "stack_text", directories: stackDirectories)
    }

    var effectiveTimeout: UInt32 {
        if timeoutMilliseconds != 0 { return timeoutMilliseconds }
        return isInteractive ? 120_000 : 5_000
    }
}
