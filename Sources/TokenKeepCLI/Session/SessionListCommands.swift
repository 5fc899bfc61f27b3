import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepSession

/// `tokenkeep session list [SERVICE]`.
struct SessionListCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the sessions, without their tokens.",
        discussion: """
            The active account of a service is marked with *. In JSON: an object of sessions and problem, which is null \
            if the list is complete.

              tokenkeep session list
              tokenkeep session list api.example.com --json
            """.withWholeExamples)

    @Argument(help: "Only sessions of this service.", completion: NameCompletion.sessionServices)
    var service: String?

    @OptionGroup
    var options: JSONStoreOptions

    func run(_ store: Store) throws {
        let listing = try Sessions(store).list(service: service)
        if options.json {
            try Terminal.write(JSONOutput.text(SessionJSON.Listing(listing, SessionJSON.waiting(store))))
        } else if !listing.sessions.isEmpty || listing.problem == nil {
            try Terminal.write(table(listing.sessions))
        }
        guard let problem = listing.problem else { return }
        if problem.status == .locked { throw problem }
        Terminal.warn(problem)
    }

    private func table(_ sessions: [SessionInfo]) -> String {
        guard !sessions.isEmpty else { return "no sessions\n" }
        var table = Table(header: ["SERVICE", "ACCOUNT", "ACTIVE", "STATE", "TOKEN ENDS"])
        for session in sessions {
            let state = [session.state.word, session.reason.word.map { "(\($0))" }].compactMap { $0 }
            table.add([
                session.service, session.account, session.isActive ? "*" : "", state.joined(separator: " "),
                session.expiresAt?.iso8601 ?? "",
            ])
        }
        return table.text
    }
}

/// `tokenkeep session show SERVICE [ACCOUNT]`.
struct SessionShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what is known of one session, without its tokens.",
        discussion: """
            A session that ended is shown with the reason, and the exit code is 0.

              tokenkeep session show api.example.com
              tokenkeep session show api.example.com ann --json
            """.withWholeExamples)

    @OptionGroup
    var session: SessionArguments

    @Flag(help: "Write a JSON object.")
    var json = false

    func run() throws {
        let opened = try session.open()
        let info = try opened.info()
        let waiting = SessionJSON.waiting(opened)
        if json { return try Terminal.write(JSONOutput.text(SessionJSON.Session(info, waiting))) }
        let queued = (try? waiting?.count(service: info.service, account: info.account)) ?? 0
        let rows: [(String, String)] = [
            ("service", info.service), ("account", info.account + (info.isActive ? " (active)" : "")),
            ("state", [info.state.word, info.reason.word].compactMap { $0 }.joined(separator: ", ")),
            ("provider", info.provider ?? ""), ("scope", info.scope ?? ""), ("level", info.level?.word ?? ""),
            ("level of the refresh token", info.refreshLevel?.word ?? ""),
            ("token ends", info.expiresAt?.iso8601 ?? ""), ("renewed from", info.refreshAt?.iso8601 ?? ""),
            ("validated", info.validatedAt?.iso8601 ?? ""),
            ("can be renewed", info.canRenew ? "yes" : "no"), ("tokens so far", "\(info.generation)"),
            ("problem", info.problem ?? ""),
            ("server is not asked until", info.coolDownUntil?.iso8601 ?? ""),
            ("rotation", info.rotation.word),
            ("stashed", info.isStashed ? "yes; a restart of the machine would lose the session" : ""),
            ("to be revoked", queued == 0 ? "" : "\(queued)"),
            ("being renewed by", info.refreshingProcess.map { "process \($0)" } ?? ""),
        ]
        let text = rows.filter { !$0.1.isEmpty }.map { "\($0.0): \(Terminal.printable($0.1))\n" }.joined()
        try Terminal.write(text)
    }
}

/// `tokenkeep session switch SERVICE ACCOUNT`.
struct SessionSwitchCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch",
        abstract: "Make an account the active one of its service.",
        discussion: """
              tokenkeep session switch api.example.com bob
            """.withWholeExamples)

    @Argument(help: "What the session is for.", completion: NameCompletion.sessionServices)
    var service: String

    @Argument(help: "Whose it is.", completion: NameCompletion.sessionAccounts)
    var account: String

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws { try Sessions(store).makeActive(service: service, account: account) }
}

/// `tokenkeep session device`.
struct SessionDeviceCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Write the id of this user on this machine, for the requests of guests.",
        discussion: """
            A random UUID, made at the first use and kept through every logout. It identifies the user to the server.

              curl -H "X-Device-ID: $(tokenkeep session device)" "$URL"
            """.withWholeExamples)

    @OptionGroup(title: "Store options")
    var options: StoreOptions

    func run(_ store: Store) throws { try Terminal.write(Sessions(store).deviceID() + "\n") }
}

/// The JSON values of sessions. Every member is always present; an unknown value is null.
enum SessionJSON {
    /// The tokens whose revocation is queued; nil if they cannot be listed.
    static func waiting(_ store: Store) -> WaitingTokens? { try? WaitingTokens(Outbox(store, SessionOptions())) }

    /// The tokens whose revocation is queued; nil if they cannot be listed.
    static func waiting(_ session: SessionEngine) -> WaitingTokens? {
        try? WaitingTokens(session.outbox)
    }

    struct Session: Encodable {
        private enum CodingKeys: String, CodingKey {
            case service, account, active, state, reason, kind, provider, level, scope, rotation, generation, problem
            case refreshing, stashed, outbox
            case refreshLevel = "refresh_level"
            case expiresAt = "expires_at"
            case refreshAt = "refresh_at"
            case validatedAt = "validated_at"
            case canRenew = "can_renew"
            case coolDownUntil = "cool_down_until"
        }

        private let service, account, state, kind, rotation: String
        private let active, canRenew, stashed: Bool
        private let generation: UInt64
        private let reason, provider, level, refreshLevel, scope, problem: JSONOutput.Nullable<String>
        private let outbox: JSONOutput.Nullable<Int>
        private let expiresAt, refreshAt, validatedAt, coolDownUntil: JSONOutput.Nullable<String>
        private let refreshing: JSONOutput.Nullable<UInt32>

        /// - Parameter waiting: the tokens whose revocation is queued; nil if they cannot be listed.
        init(_ info: SessionInfo, _ waiting: WaitingTokens?) {
            service = info.service
            account = info.account
            active = info.isActive
            state = info.state.word
            reason = .init(info.reason.word)
            kind = info.kind.word
            provider = .init(info.provider)
            level = .init(info.level?.word)
            refreshLevel = .init(info.refreshLevel?.word)
            outbox = .init(try? waiting?.count(service: info.service, account: info.account))
            scope = .init(info.scope)
            problem = .init(info.problem)
            rotation = info.rotation.word
            generation = info.generation
            stashed = info.isStashed
            refreshing = .init(info.refreshingProcess)
            expiresAt = .init(info.expiresAt?.iso8601)
            refreshAt = .init(info.refreshAt?.iso8601)
            validatedAt = .init(info.validatedAt?.iso8601)
            canRenew = info.canRenew
            coolDownUntil = .init(info.coolDownUntil?.iso8601)
        }
    }

    struct Listing: Encodable {
        private let sessions: [Session]
        private let problem: JSONOutput.Nullable<JSONOutput.Problem>

        init(_ listing: Sessions.Listing, _ waiting: WaitingTokens?) {
            sessions = listing.sessions.map { Session($0, waiting) }
            problem = .init(listing.problem.map(JSONOutput.Problem.init))
        }
    }

    struct Ended: Encodable {
        struct Hook: Encodable {
            let name, result: String
        }

        private let ended = true
        private let hooks: [Hook]
        private let revocation: String

        init(_ report: EndReport) {
            hooks = report.hooks.map { Hook(name: $0.name, result: $0.result == .done ? "done" : "failed") }
            revocation = report.revocation.word
        }
    }
}
