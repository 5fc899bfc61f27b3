import ArgumentParser
import TokenKeepCore
import TokenKeepEngine

/// How to open the store: the options that every command has.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The namespace that the item is in.", valueName: "name"))
    var namespace = ""

    @Option(
        help: ArgumentHelp(
            "A configured stack by its name, or a stack in place: \"any required vault\".", valueName: "stack"))
    var stack: String?

    @Option(help: ArgumentHelp("The longest that the call may take: 500ms, 5s, 2m.", valueName: "duration"))
    var timeout: String?

    @Flag(help: "Let a module ask you for something: the keyring to be unlocked, the vault for its password.")
    var interactive = false

    /// Opens the store. Nothing is asked or made yet.
    func open(_ explainOptions: ExplainOptions? = nil) throws(TokenKeepError) -> Store {
        var configuration = StoreConfiguration(namespace: namespace)
        configuration.trace = explainOptions?.handler
        configuration.isInteractive = interactive
        configuration.prompt = PasswordInput.handler
        if let stack {
            // A name has no white space, a stack in place has some between its words.
            if stack.contains(where: \.isWhitespace) {
                configuration.stackText = stack
            } else {
                configuration.stack = stack
            }
        }
        if let timeout { configuration.timeoutMilliseconds = try Durations.timeout(timeout) }
        return try Store(configuration)
    }

    /// Names an item in the namespace.
    func name(_ service: String, _ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: namespace, service: service, account: account)
    }
}
