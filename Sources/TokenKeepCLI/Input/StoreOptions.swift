import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys

/// The options for opening the store, common to all commands that use the store.
struct StoreOptions: StoreOpening {
    @Option(help: ArgumentHelp("The namespace that the item is in.", valueName: "name"))
    var namespace = ""

    @Option(
        help: ArgumentHelp(
            "A configured stack by its name, or a stack in place: \"any required vault\".", valueName: "stack"))
    var stack: String?

    @Option(help: ArgumentHelp("The longest that the call may take: 5 (seconds), 500ms, 2m.", valueName: "duration"))
    var timeout: String?

    @Flag(help: "Let a module ask you for something: the keyring to be unlocked, the vault for its password.")
    var interactive = false

    @OptionGroup
    var passwordOptions: PasswordOptions

    func open() throws(TokenKeepError) -> Store { try open(nil) }

    /// Opens the store. Calls no module and creates nothing.
    ///
    /// - Parameters:
    ///   - residentKeys: the place that keeps the keys of the unlocked vault; nil for the kernel's keyring, if it can
    ///     be used.
    ///   - usesPassword: whether a password from the options or the environment unlocks the vault.
    func open(
        _ explainOptions: ExplainOptions?, residentKeys: ClassKeyStore? = nil, usesPassword: Bool = true
    ) throws(TokenKeepError) -> Store {
        var configuration = StoreConfiguration(namespace: namespace)
        configuration.trace = explainOptions?.handler
        configuration.isInteractive = interactive
        configuration.residentKeys = residentKeys
        configuration.prompt = PasswordInput.handler
        if usesPassword, let source = passwordOptions.source() {
            let limit = try limit()
            configuration.password = { () throws(TokenKeepError) in try source.read(within: limit) }
        }
        if let stack {
            // The name of a stack contains no white space; the text of a stack does.
            if stack.contains(where: \.isWhitespace) {
                configuration.stackText = stack
            } else {
                configuration.stack = stack
            }
        }
        if let limit = try limit() {
            configuration.timeoutMilliseconds = limit
            configuration.longTimeoutMilliseconds = configuration.timeoutMilliseconds
        }
        return try Store(configuration)
    }

    /// The time limit of the option `--timeout`, in milliseconds; nil if the option is absent.
    func limit() throws(TokenKeepError) -> UInt32? {
        try timeout.map { text throws(TokenKeepError) in try Durations.timeout(text) }
    }

    /// Makes the name of an item in the namespace that the options select.
    func name(_ service: String, _ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: namespace, service: service, account: account)
    }

    /// Reads the vault's password: a line of standard input if `inInput` is true, otherwise the source in the options
    /// or the environment, otherwise a prompt on the terminal.
    ///
    /// If a prompt would be needed but the vault of `store` has no password, throws instead.
    func password(
        of store: Store, inInput: Bool, orAsk ask: () throws(TokenKeepError) -> SecretBytes = PasswordInput.password
    ) throws(TokenKeepError) -> SecretBytes {
        try refuseTwoPasswords(inInput)
        return try PasswordInput.line(
            inInput: inInput, or: passwordOptions.source(), within: limit()
        ) { () throws(TokenKeepError) in
            try store.unlocking.checkHasPassword()
            return try ask()
        }
    }

    /// Reads a new password of the vault from the same sources as ``password(of:inInput:orAsk:)``. At a prompt, the
    /// user types the password twice.
    func newPassword(inInput: Bool) throws(TokenKeepError) -> SecretBytes {
        try refuseTwoPasswords(inInput)
        return try PasswordInput.newPassword(inInput: inInput, or: passwordOptions.source(), within: limit())
    }

    private func refuseTwoPasswords(_ inInput: Bool) throws(TokenKeepError) {
        guard !inInput || !passwordOptions.isGiven else {
            throw TokenKeepError(.invalid, "--stdin excludes --password-file and --password-fd")
        }
    }
}

/// The option `--explain` of every command that queries modules for items.
struct ExplainOptions: ParsableArguments {
    @Flag(help: "Say on standard error which module answered what, and why the next one was asked.")
    var explain = false

    /// The handler that prints the events of the store's calls; nil without `--explain`.
    var handler: StackTraceHandler? {
        guard explain else { return nil }
        return { Terminal.explain($0.description) }
    }
}
