public import TokenKeepCore
package import TokenKeepKeys

/// Provides the key of item versions.
package typealias VersionKeyProvider = @Sendable () throws(TokenKeepError) -> ItemVersionKey

/// How to open a store.
public struct StoreConfiguration: Sendable {
    /// The name of a configured stack; nil for the default. Not together with ``stackText``.
    public var stack: String?
    /// A stack given in place.
    public var stackText: String?
    /// The namespace that the store sees.
    public var namespace: String
    /// How long a call may take, in milliseconds; 0 for 5000, or 120000 where prompts are allowed.
    public var timeoutMilliseconds: UInt32
    /// Whether prompts are allowed.
    public var isInteractive: Bool
    /// Answers TokenKeep's own prompts, where they are allowed; nil where nobody does.
    public var prompt: PromptHandler?
    /// Where the vault is, for tests; nil for the user's.
    package var vaultPath: String?
    /// Keeps the keys of the unlocked vault, for tests; nil for the kernel's keyring as far as it can be used.
    package var residentKeys: ClassKeyStore?
    /// The message bus instead of the session's, for tests.
    package var busAddress: String?
    /// Makes what stands in for modules, by their names, for tests; each gets the key of item versions.
    package var standIns: [String: @Sendable (@escaping VersionKeyProvider) -> any Module] = [:]
    /// Tells since when something is owed: a test's own clock, or the wall clock.
    package var clock: @Sendable () -> UnixTime = { .now }
    /// The costs of new passwords, lower for tests.
    package var passwordCosts = PasswordCosts.standard
    /// Where the files of stacks are.
    package var stackDirectories = StackDirectories.standard
    /// The file of a stack, checked like one in the directories; nil for one by name.
    package var stackFile: String?
    /// Takes what each module answered; nil for nobody, unless the environment asks for it.
    package var trace: StackTraceHandler?

    /// The default stack, the common namespace, five seconds a call, no prompts, unless said otherwise.
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

    /// The stack that the configuration means. The one thing that opening a store reads.
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
