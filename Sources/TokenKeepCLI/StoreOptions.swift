import ArgumentParser
import TokenKeepCore
import TokenKeepStack

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

    /// Opens the store. Nothing is asked or made yet.
    func open(_ explainOptions: ExplainOptions? = nil) throws(TokenKeepError) -> Store {
        var configuration = try configuration()
        configuration.trace = explainOptions?.handler
        return try Store(configuration)
    }

    /// Refuses a stack that may keep what is saved in the memory of this process: it would be lost in silence, and with it
    /// the copy in a place further down.
    func refuseSavingInMemory() throws(TokenKeepError) {
        let lines = try configuration().readStack().lines
        guard !lines.contains(where: { $0.applies(to: .save) && $0.module == "memory" }) else {
            throw TokenKeepError(
                .invalid, "an item that the stack saves in memory would end with this command",
                hint: "leave the module memory out of the stack's lines for save and any")
        }
    }

    private func configuration() throws(TokenKeepError) -> StoreConfiguration {
        var configuration = StoreConfiguration(namespace: namespace)
        if let stack {
            // A name has no white space, a stack in place has some between its words.
            if stack.contains(where: \.isWhitespace) {
                configuration.stackText = stack
            } else {
                configuration.stack = stack
            }
        }
        if let timeout { configuration.timeoutMilliseconds = try Durations.timeout(timeout) }
        return configuration
    }

    /// Names an item in the namespace.
    func name(_ service: String, _ account: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: namespace, service: service, account: account)
    }
}
