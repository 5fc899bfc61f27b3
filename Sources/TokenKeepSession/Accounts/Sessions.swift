import Glibc
public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The right to keep the sessions of a vault fresh: one process has it.
public struct SessionKeeper: ~Copyable {
    private let lock: SessionLock

    /// - Throws: ``Status/busy``, naming the process that has the right.
    public init(_ store: Store) throws(TokenKeepError) {
        lock = try KeeperLock.acquire(store.records, process: getpid())
    }
}

/// The sessions of a store's namespace.
public struct Sessions: Sendable {
    /// A list of sessions, and what it lacks.
    public struct Listing: Sendable {
        /// The sessions, by service and account.
        public let sessions: [SessionInfo]
        /// The reason why sessions are missing; nil if none are.
        public let problem: TokenKeepError?
    }

    let store: Store
    let files: SessionFiles

    /// The sessions of a store.
    public init(_ store: Store) {
        self.store = store
        files = SessionFiles(store.records)
    }

    /// Lists the sessions of a service, or of all services for nil. Reads no token and asks no server.
    ///
    /// - Throws: the reason why the vault cannot be read.
    public func list(service: String? = nil) throws(TokenKeepError) -> Listing {
        let call = try store.sessionCall()
        if let service { _ = try ItemName(namespace: store.namespace, service: service, account: "") }
        let (notes, damaged) = try notes(call)
        let hasLocked = notes.contains { $0.name == nil }
        var sessions: [SessionInfo] = []
        var active: [String: [UInt8]?] = [:]
        for file in notes {
            guard let name = file.name, name.isIn(namespace: store.namespace, service: service),
                let note = try? SessionNote(file.state)
            else { continue }
            let pointer = active[name.service] ?? (try? pointer(place(of: name.service))) ?? nil
            active[name.service] = .some(pointer)
            let isActive = pointer != nil && pointer == (try? files.id(of: name, call))
            sessions.append(SessionInfo(name: name, note, state: note.state, isActive: isActive))
        }
        sessions.sort { ($0.service, $0.account) < ($1.service, $1.account) }
        return Listing(sessions: sessions, problem: Sessions.problem(hasLocked: hasLocked, damaged: damaged))
    }

    /// The notes. If names are locked, and the program gives the vault's password, the vault is unlocked.
    private func notes(_ call: CallContext) throws(TokenKeepError) -> (files: [SessionFile], damaged: Int) {
        let notes = try files.notes()
        guard notes.files.contains(where: { $0.name == nil }) else { return notes }
        try store.unlocking.withGivenPassword(call)
        return try files.notes()
    }

    private static func problem(hasLocked: Bool, damaged: Int) -> TokenKeepError? {
        if hasLocked {
            return TokenKeepError(
                .locked, "the names of sessions are locked", module: "vault",
                hint: "unlock the vault: tokenkeep unlock")
        }
        guard damaged > 0 else { return nil }
        return TokenKeepError(
            .corrupt, damaged == 1 ? "a note is damaged" : "\(damaged) notes are damaged", module: "vault",
            hint: "each is rebuilt when its session is used")
    }

    /// The tokens that wait: in the stash, in the outbox.
    public struct Waiting: Sendable {
        /// The number of sessions whose tokens wait in the stash for their place to open.
        public let stashed: Int
        /// Whether tokens of ended sessions wait to be revoked at the server; nil if they cannot be listed.
        public let hasOutbox: Bool?
    }

    /// The tokens of the vault's sessions that wait, in all namespaces. Changes nothing.
    ///
    /// - Throws: the reason why the vault cannot be read.
    public func waiting() throws(TokenKeepError) -> Waiting {
        let notes = try files.notes().files.compactMap { try? SessionNote($0.state) }
        return Waiting(stashed: notes.count(where: \.isStashed), hasOutbox: hasOutbox())
    }

    /// The tokens that a deletion of the vault would lose.
    public struct Losses: Sendable {
        /// The number of sessions whose new tokens wait for their place to open.
        public let stashed: Int
        /// The number of sessions that ended while they were locked, and whose tokens are not queued yet.
        public let ended: Int
        /// Whether tokens may wait to be revoked at the server, in any namespace.
        public let mayHaveOutbox: Bool
    }

    /// The tokens that a deletion of the vault would lose, in all namespaces. Works while the vault is locked.
    ///
    /// - Throws: the reason why the vault cannot be read.
    public func losses() throws(TokenKeepError) -> Losses {
        let notes = try files.notes().files.compactMap { try? SessionNote($0.state) }
        return Losses(
            stashed: notes.count(where: \.isStashed),
            ended: notes.count { $0.state == .signedOut && $0.endedEpoch != nil },
            mayHaveOutbox: OutboxMark(store.records).isSet)
    }

    private func hasOutbox() -> Bool? {
        guard OutboxMark(store.records).isSet else { return false }
        let end = Deadline(milliseconds: store.timeoutMilliseconds)
        guard let listing = try? store.withoutPrompts.list(service: Outbox.service, until: end) else { return nil }
        if !listing.items.isEmpty { return true }
        return listing.problem == nil ? false : nil
    }

    /// Whether no session of any namespace has tokens of a provider, as far as the vault's notes tell. Works while the
    /// vault is locked. Another vault's sessions are not known.
    ///
    /// - Parameter isLeftOut: whether the session of a name does not count. Not called for names that are locked.
    /// - Throws: the reason why the notes cannot be read; ``Status/corrupt`` if one is damaged.
    package func areAllWithout(
        provider: String, except isLeftOut: (ItemName) -> Bool = { _ in false }
    ) throws(TokenKeepError) -> Bool {
        let (notes, damaged) = try files.notes()
        if let problem = Sessions.problem(hasLocked: false, damaged: damaged) { throw problem }
        return notes.allSatisfy { file in
            guard let note = try? SessionNote(file.state) else { return false }
            return note.state == .signedOut || note.provider != provider || file.name.map(isLeftOut) == true
        }
    }

    /// Queues and clears the records of sessions that ended while they were locked, if they are open now.
    func finishEnds(service: String?, _ options: SessionOptions) throws(TokenKeepError) {
        let call = try store.sessionCall(options.timeoutMilliseconds)
        for file in try notes(call).files where !call.deadline.hasPassed {
            guard let name = file.name, name.isIn(namespace: store.namespace, service: service),
                let note = try? SessionNote(file.state), note.state == .signedOut, note.endedEpoch != nil
            else { continue }
            // A record that is still locked waits.
            try? SessionStorage(store, name, options, call).finishEnd(store.sessionCall(options.timeoutMilliseconds))
        }
    }

    /// The id of this user on this machine: a random UUID, made at the first use and kept through every logout. For the
    /// requests of guests (`X-Device-ID`): it identifies the user to the server.
    public func deviceID() throws(TokenKeepError) -> String {
        try DeviceID.read(store.records, store.sessionCall())
    }

    /// The active account of a service.
    ///
    /// - Throws: ``Status/notFound`` if no account is active.
    public func active(of service: String) throws(TokenKeepError) -> String {
        try activeAccount(of: service, store.sessionCall())
    }

    func activeAccount(of service: String, _ call: CallContext) throws(TokenKeepError) -> String {
        if let pointer = try pointer(place(of: service)) {
            let notes = try notes(call).files
            for file in notes {
                guard let name = file.name, name.isIn(namespace: store.namespace, service: service) else { continue }
                if try files.id(of: name, call) == pointer { return name.account }
            }
            if notes.contains(where: { $0.name == nil }) {
                throw TokenKeepError(
                    .locked, "the active account of \(service) is locked", module: "vault",
                    hint: "name the account, or unlock the vault: tokenkeep unlock")
            }
        }
        throw TokenKeepError(.notFound, "no account of \(service) is active", hint: try hint(of: service))
    }

    /// Whether an account is the active one of its service.
    func isActive(_ session: SessionStorage) throws(TokenKeepError) -> Bool {
        try pointer(place(of: session.name.service)) == session.id
    }

    /// The name of the pointer to the active account of a service.
    func place(of service: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: store.namespace, service: service, account: "")
    }

    private static let mostInHint = 5

    /// The advice to sign in; `ACCOUNT` stands for an account that nobody has named.
    static func signIn(_ service: String, _ account: String?) -> String {
        let account = account.map(SignInCommand.word) ?? "ACCOUNT"
        return "sign in: tokenkeep session begin \(SignInCommand.word(service)) \(account)"
    }

    /// Names the accounts of a service that are not signed out, and one that may have been meant; advises to sign in if
    /// there are none.
    ///
    /// - Parameter account: the account that was named; nil if none was.
    func hint(of service: String, insteadOf account: String? = nil) throws(TokenKeepError) -> String {
        let notes = try files.notes().files.filter { file in
            file.name?.isIn(namespace: store.namespace, service: service) == true
        }
        let accounts = notes.compactMap { file -> String? in
            guard let note = try? SessionNote(file.state), note.state != .signedOut else { return nil }
            return file.name?.account
        }
        guard !accounts.isEmpty else {
            // A service with a note is the one that is meant: its accounts are signed out.
            let nearest = notes.isEmpty ? nearestService(to: service) : nil
            return (nearest.map { "the nearest service is \($0); " } ?? "") + Sessions.signIn(service, account)
        }
        let shown = accounts.sorted().prefix(Sessions.mostInHint).joined(separator: ", ")
        let others = accounts.count - Sessions.mostInHint
        let all = "its accounts: \(shown)\(others > 0 ? " and \(others) more" : "")"
        let nearest = account.flatMap { NearestName.of($0, among: accounts) }
        guard let nearest else { return all }
        guard nearest == account else { return "the nearest account is \(nearest); \(all)" }
        // The two look the same, and name two items.
        return "the account \(nearest) is written in another Unicode form (NFC, NFD); \(all)"
    }

    /// Names the service of a session that may have been meant; nil if there is none.
    private func nearestService(to service: String) -> String? {
        let services = (try? files.notes().files)?.compactMap { file -> String? in
            guard let name = file.name, name.namespace == store.namespace, let note = try? SessionNote(file.state),
                note.state != .signedOut
            else { return nil }
            return name.service
        }
        return NearestName.of(service, among: services ?? [])
    }

    /// The ID of the active account; nil if no account is active, or if the pointer is damaged.
    func pointer(_ place: ItemName) throws(TokenKeepError) -> [UInt8]? {
        do throws(TokenKeepError) {
            guard let state = try files.read(.active, of: place)?.state, state.count == 16 else { return nil }
            return state
        } catch {
            guard error.status == .corrupt else { throw error }
            return nil
        }
    }

    /// Makes an account the active one of its service.
    ///
    /// - Throws: ``Status/notFound`` if nobody is signed in as the account, naming the accounts there are.
    public func makeActive(service: String, account: String) throws(TokenKeepError) {
        let call = try store.sessionCall()
        let name = try ItemName(namespace: store.namespace, service: service, account: account)
        guard let file = try files.read(.note, of: name), let note = try? SessionNote(file.state),
            note.state != .signedOut
        else {
            throw TokenKeepError(
                .notFound, "nobody is signed in as \(name)", hint: try hint(of: service, insteadOf: account))
        }
        try point(to: name, call)
    }

    /// Makes an account the active one if its service has none.
    func activateIfNoneIs(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard try pointer(place(of: name.service)) == nil else { return }
        try point(to: name, call)
    }

    private func point(to name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        let id = try files.id(of: name, call)
        try files.change(.active, of: place(of: name.service), call) { _ in id }
        store.changeMarks.change(id)
    }

    /// Makes no account active if that of a session is the active one.
    func deactivate(_ session: SessionStorage, _ call: CallContext) throws(TokenKeepError) {
        // Most accounts are not active, and need no lock.
        guard try isActive(session) else { return }
        try files.change(.active, of: place(of: session.name.service), call) { file in
            file?.state == session.id ? [] : nil
        }
    }
}
