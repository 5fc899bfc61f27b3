import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepEngine
import TokenKeepOAuth
import TokenKeepSession
import TokenKeepTerminal

/// `tokenkeep session logout SERVICE [ACCOUNT]`.
struct SessionLogoutCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "End a session for every process, and revoke its token at the server.",
        discussion: """
            The session ends at once, offline and while everything is locked. If the server does not answer, or its \
            endpoint is not known, the token waits for tokenkeep session flush, for 30 days at most. --local sends nothing.

            Afterwards the programs in $XDG_CONFIG_HOME/tokenkeep/logout.d run in the order of their names, with the \
            session's names in TOKENKEEP_SERVICE and TOKENKEEP_ACCOUNT, 10 seconds each.

              tokenkeep session logout api.example.com --exec ./refresh
              tokenkeep session logout api.example.com --all

            --browser opens the provider's end_session_endpoint afterwards, which signs the browser out: else the next \
            sign-in may ask for no password, and sign the same user in.
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @Flag(help: "Every account of the service.")
    var all = false

    @Flag(help: "Send nothing to the server, now or later.")
    var local = false

    @Flag(help: "Sign the browser out, too.")
    var browser = false

    @Flag(help: "Write a JSON object for each account.")
    var json = false

    func run() throws {
        guard !browser || !all && !local else {
            throw TokenKeepError(.invalid, "--browser excludes --all and --local")
        }
        guard !browser else { return try endWithBrowser(session.open()) }
        guard all else { return try end(session.open()) }
        guard session.account == nil else { throw TokenKeepError(.invalid, "--all excludes an account") }
        try endAll()
    }

    /// Ends every session on this machine first, and then revokes the tokens at the servers.
    private func endAll() throws {
        let store = try session.storeOptions.open()
        let options = try session.server.options(session.storeOptions, isForMany: true)
        let listing = try Sessions(store).list(service: session.service)
        var (ended, problem) = end(listing.sessions.filter { $0.state != .signedOut }, store, options)
        problem = problem ?? listing.problem
        let limit = session.storeOptions.timeout == nil ? UInt32.max : options.timeoutMilliseconds
        // If no session has a provider and --exec is absent, no server can be queried, and the revocations stay queued.
        let isAsked = session.server.command != nil || listing.sessions.contains { $0.provider != nil }
        if !local, isAsked { Outbox(store, options).revoke(&ended, until: Deadline(milliseconds: limit)) }
        try show(ended)
        if let problem { throw problem }
    }

    /// Ends sessions, several at the same time unless there are hooks. Begins no further session after the first error.
    private func end(
        _ infos: [SessionInfo], _ store: Store, _ options: SessionOptions
    ) -> (ended: [(session: SessionEngine, report: EndReport)], problem: TokenKeepError?) {
        typealias Ended = (session: SessionEngine, report: EndReport)
        let outcomes = MutexGuarded([Ended?](repeating: nil, count: infos.count))
        let problem = MutexGuarded<TokenKeepError?>(nil)
        let (hooks, isLocalOnly) = (LogoutHooks.programs(), local)
        SideBySide.run(infos.count, threads: hooks.isEmpty ? SessionLogoutCommand.mostAtOnce : 1) { number in
            guard problem.withLock({ $0 == nil }) else { return }
            do throws(TokenKeepError) {
                let (service, account) = (infos[number].service, infos[number].account)
                let session = try SessionEngine(store, service: service, account: account, options)
                for hook in hooks { hook.register(in: session) }
                let report = try session.endHere(isLocalOnly: isLocalOnly)
                outcomes.withLock { $0[number] = (session, report) }
            } catch {
                problem.withLock { $0 = $0 ?? error }
            }
        }
        return (outcomes.withLock { $0.compactMap { $0 } }, problem.withLock { $0 })
    }

    /// The maximum number of sessions that end at the same time. Each end flushes the disk six times, and concurrent
    /// ends share these flushes.
    private static let mostAtOnce = 16
    private static let browserTimeout: UInt32 = 60_000

    /// Ends the session, and then signs the browser out. Ends the session even if the browser's logout cannot be
    /// prepared.
    private func endWithBrowser(_ opened: SessionEngine) throws {
        let timeout = try session.storeOptions.timeout.map { try Durations.timeout($0) } ?? Self.browserTimeout
        let deadline = Deadline(milliseconds: timeout)
        // Prepare the browser's logout first, because the logout needs the ID token, which is removed with the session.
        let logout = Result { () throws(TokenKeepError) in try BrowserLogout(of: opened, until: deadline) }
        try end(opened)
        let browser = try logout.get()
        Terminal.writeError("the browser, which opens now, is signed out at \(browser.server)\n")
        try browser.run(until: deadline)
    }

    private func end(_ session: SessionEngine) throws {
        try show([(session, withHooks(session).end(isLocalOnly: local))])
    }

    private func withHooks(_ session: SessionEngine) -> SessionEngine {
        for hook in LogoutHooks.programs() { hook.register(in: session) }
        return session
    }

    private func show(_ ended: [(session: SessionEngine, report: EndReport)]) throws {
        let exec = session.server.command.map { " --exec \(SignInCommand.word($0))" } ?? ""
        var warnings = LogoutWarnings(flush: "tokenkeep session flush" + exec)
        for (session, report) in ended {
            if json { try Terminal.write(JSONOutput.line(SessionJSON.Ended(report))) }
            warnings.add(report, of: session.name)
        }
        if !json { warnings.show() }
    }
}

/// `tokenkeep session flush`.
struct SessionFlushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flush",
        abstract: "Revoke the tokens of ended sessions that still wait.",
        discussion: """
            A token that could not be revoked for 30 days is dropped. The exit code is 4 if tokens are left, 3 if some \
            are locked.

              tokenkeep session flush --exec ./refresh
            """.withWholeExamples)

    @Argument(help: "Only tokens of this service.")
    var service: String?

    @OptionGroup
    var server: SessionServerOptions

    @OptionGroup(title: "Store options")
    var storeOptions: StoreOptions

    func run() throws {
        let options = try server.options(storeOptions, isForMany: true)
        let result = try Outbox(storeOptions.open(server.explainOptions), options).flush(service: service)
        try Terminal.write("\(result.sent) revoked, \(result.left) left, \(result.dropped) dropped\n")
        if let problem = result.problem { throw problem }
        if result.left > 0 { throw ExitCode(Status.unavailable.exitCode) }
    }
}

/// A hook: a program that runs at a logout.
struct LogoutHooks: Sendable {
    let name: String
    private let path: String
    /// The reason why the program must not run; nil if it may run.
    let refusal: TokenKeepError?

    private init(_ name: String, _ path: String, refusal: TokenKeepError? = nil) {
        self.name = name
        self.path = path
        self.refusal = refusal
    }

    /// The hooks in the user's directory `logout.d`, in the order of their names.
    ///
    /// A program that another user could have put there does not run, but the logout continues.
    static func programs() -> [LogoutHooks] {
        guard let directory = ConfigurationDirectory.path().map({ $0 + "/logout.d" }),
            access(directory, F_OK) == 0
        else { return [] }
        guard let names = DirectoryNames.visible(in: directory) else {
            let refusal = TokenKeepError(
                .io, "no hook ran: \(directory) cannot be listed: \(Terminal.describe(errno: errno))")
            return [LogoutHooks("logout.d", directory, refusal: refusal)]
        }
        do throws(TokenKeepError) {
            try TrustedPath.check(directory)
        } catch {
            return [LogoutHooks("logout.d", directory, refusal: error)]
        }
        var hooks: [LogoutHooks] = []
        for name in names {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else {
                continue
            }
            let isTrusted = (status.st_uid == geteuid() || status.st_uid == 0) && status.st_mode & 0o022 == 0
            hooks.append(LogoutHooks(name, path, refusal: isTrusted ? linked(path) : changeable(path)))
        }
        return hooks
    }

    /// Returns the reason why the path of a program is not trusted; nil if it is trusted. Checks all directories,
    /// because a symbolic link may lead through directories of other users.
    private static func linked(_ path: String) -> TokenKeepError? {
        do throws(TokenKeepError) {
            try TrustedPath.check(path)
            return nil
        } catch {
            return error
        }
    }

    private static func changeable(_ path: String) -> TokenKeepError {
        TokenKeepError(
            .denied, "other users can change the hook \(path)", hint: "chmod go-w '\(path)', and check its owner")
    }

    func register(in session: SessionEngine) {
        let (path, refusal) = (path, refusal)
        session.onEnd(name, order: 1000) { service, account, _ throws(TokenKeepError) in
            if let refusal { throw refusal }
            let program = ProgramRun(
                [path], variables: ["TOKENKEEP_SERVICE=\(service)", "TOKENKEEP_ACCOUNT=\(account)"])
            let outcome = try program.run(input: nil, until: Deadline(milliseconds: EndHookLimit.milliseconds))
            guard outcome.exitCode == 0 else {
                throw TokenKeepError(.io, "it ended with exit code \(outcome.exitCode)")
            }
        }
    }
}
