public import TokenKeepCore
package import TokenKeepKeys
package import TokenKeepRecords

/// Provides the key of item versions.
package typealias VersionKeyProvider = @Sendable () throws(TokenKeepError) -> ItemVersionKey

/// Provides the vault's password.
package typealias PasswordProvider = @Sendable () throws(TokenKeepError) -> SecretBytes

/// The options for opening a store.
public struct StoreConfiguration: Sendable {
    /// The name of a configured stack; nil for the default. Excludes ``stackText``.
    public var stack: String?
    /// The text of a stack, in place of a configured stack.
    public var stackText: String?
    /// The namespace of every call.
    public var namespace: String
    /// The timeout of a call in milliseconds; 0 for 5000, or for 120000 if prompts are allowed.
    public var timeoutMilliseconds: UInt32
    /// Whether prompts are allowed.
    public var isInteractive: Bool
    /// Answers TokenKeep's own prompts, if prompts are allowed; nil if the program answers no prompt.
    public var prompt: PromptHandler?
    /// Gives the vault's password without asking a user, whether prompts are allowed or not; nil to ask ``prompt``.
    package var password: PasswordProvider?
    /// The path of the vault, for tests; nil for the user's vault.
    package var vaultPath: String?
    /// Keeps the keys of the unlocked vault; nil for the kernel's keyring if it can be used.
    package var residentKeys: ClassKeyStore?
    /// The address of a message bus that replaces the session's, for tests.
    package var busAddress: String?
    /// Makes replacement modules by name, for tests; each maker gets the key of item versions.
    package var standIns: [String: @Sendable (@escaping VersionKeyProvider) -> any Module] = [:]
    /// Gives the time of a pending change; replaced in tests.
    package var clock: @Sendable () -> UnixTime = { .now }
    /// Gives the clocks at the time of a pending change; replaced in tests.
    package var clocks: @Sendable () -> ClockMark = { .now }
    /// The costs of deriving new passwords; lower in tests.
    package var passwordCosts = PasswordCosts.standard
    /// The directories of stack files.
    package var stackDirectories = StackDirectories.standard
    /// The path of a stack file, checked like a file in the directories; nil for a stack by name.
    package var stackFile: String?
    /// Gets an event for each module's answer; nil for none, unless the environment asks for a trace.
    package var trace: StackTraceHandler?

    /// Defaults: the default stack, the common namespace, five seconds a call, no prompts.
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

    /// Reads the stack of the configuration. Opening a store reads nothing else.
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
