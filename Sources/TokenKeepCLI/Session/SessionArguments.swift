import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepOAuth
import TokenKeepSession

/// The arguments that name a session, and the options for its server.
struct SessionArguments: ParsableArguments {
    @Argument(help: "What the session is for.", completion: NameCompletion.sessionServices)
    var service: String

    @Argument(help: "Whose it is; without it the active account.", completion: NameCompletion.sessionAccounts)
    var account: String?

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    /// Opens the session.
    func open() throws(TokenKeepError) -> SessionEngine {
        let options = try server.options(storeOptions)
        return try SessionEngine(storeOptions.open(server.explainOptions), service: service, account: account, options)
    }
}

/// The options of commands that query a server.
struct SessionServerOptions: ParsableArguments {
    @Option(
        name: .customLong("exec"),
        help: ArgumentHelp(
            "The command that asks the server in the provider's place; see tokenkeep session --help.",
            valueName: "command"))
    var command: String?

    @OptionGroup
    var explainOptions: ExplainOptions

    /// Sends a request to the server that the file of the session's provider names, or runs a command that sends the
    /// request.
    ///
    /// - Parameter command: the command for sessions that have no provider's file; nil if there is no such command.
    private static func ask(_ request: SessionRequest, _ command: String?) throws(TokenKeepError) -> SessionResponse {
        let provider = try SessionServer.provider(of: request)
        guard let command = provider == nil ? command : provider?[.exec] else {
            return try SessionServer.send(request, to: provider)
        }
        try request.willSend()
        return try ExecTransport.make(command)(request)
    }

    /// Makes the options of sessions, with a transport that sends requests to the server in the provider's file, or
    /// runs the command of `--exec`.
    func options(_ storeOptions: StoreOptions, isForMany: Bool = false) throws(TokenKeepError) -> SessionOptions {
        var options = SessionOptions()
        options.transportNotesSending = isForMany || command == nil
        if let command, !isForMany {
            options.transport = ExecTransport.make(command)
        } else {
            options.transport = { [command] request throws(TokenKeepError) in try Self.ask(request, command) }
        }
        if let timeout = storeOptions.timeout { options.timeoutMilliseconds = try Durations.timeout(timeout) }
        if explainOptions.explain { options.explain = { Terminal.explain($0) } }
        if Terminal.showsErrors {
            options.whileWaiting = { process in
                let other = process.map { "process \($0)" } ?? "another process"
                Terminal.writeError("waiting for \(other), which is renewing the token\n")
            }
        }
        options.whileSending = { isSending in isSending ? HeldSignals.hold() : HeldSignals.release() }
        return options
    }
}
