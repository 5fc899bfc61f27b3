import Glibc
public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The exclusive right of one process (`tokenkeep session keep`) to renew a vault's sessions before their tokens
/// expire.
public struct SessionKeeper: ~Copyable {
    private let lock: SessionLock

    /// Acquires the right. It is released when this value is destroyed.
    ///
    /// - Throws: ``Status/busy``, naming the process that has the right.
    public init(_ store: Store) throws(TokenKeepError) {
        lock = try KeeperLock.acquire(store.records, process: getpid())
    }
}

/// The sessions of a store's namespace.
public struct Sessions: Sendable {
    /// A list of sessions, and the error if sessions are missing from it.
    public struct Listing: Sendable {
        /// The sessions, sorted by service and account.
        public let sessions: [SessionInfo]
        /// The error for which sessions are missing from the list; nil if the list is complete.
        public let problem: TokenKeepError?
    }

    let store: Store
    let files: SessionFiles

    /// The sessions of a store.
    public init(_ store: Store) {
        self.store = store
        files = SessionFiles(store.records)
    }

    /// Lists the sessions of a service; nil lists those of all services. Reads no token and asks no server.
    ///
    /// - Throws: the error of reading the vault.
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

    /// Reads the notes of all sessions. If some names are locked and the program was given the vault's password, first
    /// unlocks the vault.
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

    /// The tokens of a store that are not yet saved in their item, or not yet revoked at the server.
    public struct Waiting: Sendable {
        /// The number of sessions whose newest tokens are in the stash, because their item could not be written.
        public let stashed: Int
        /// Whether tokens of ended sessions wait to be revoked at the server; nil if the outbox cannot be listed.
        public let hasOutbox: Bool?
    }

    /// Counts the sessions of all namespaces whose tokens are in the stash, and checks whether this namespace's outbox
    /// has tokens. Changes nothing.
    ///
    /// - Throws: the error of reading the vault.
    public func waiting() throws(TokenKeepError) -> Waiting {
        let notes = try files.notes().files.compactMap { try? SessionNote($0.state) }
        return Waiting(stashed: notes.count(where: \.isStashed), hasOutbox: hasOutbox())
    }

    /// The tokens that would be lost if the vault were deleted.
    public struct Losses: Sendable {
        /// The number of sessions whose newest tokens are only in the stash.
        public let stashed: Int
        /// The number of sessions that ended while locked, and whose tokens are not queued for revocation yet.
        public let ended: Int
        /// Whether tokens may wait to be revoked at the server, in any namespace.
        public let mayHaveOutbox: Bool
    }

    /// Counts the tokens that would be lost if the vault were deleted, in all namespaces. Works while the vault is
    /// locked.
    ///
    /// - Throws: the error of reading the vault.
    public func losses() throws(TokenKeepError) -> Losses {
        let notes = try files.notes().files.compactMap { try? SessionNote($0.state) }
        return Losses(
            stashed: notes.count(where: \.isStashed),
            ended: notes.count { $0.state == .signedOut && $0.endedEpoch != nil },
            mayHaveOutbox: try OutboxMark.isAnySet(store.records))
    }

    private func hasOutbox() -> Bool? {
        guard OutboxMark(store.records, namespace: store.namespace).isSet else { return false }
        let end = Deadline(milliseconds: store.timeoutMilliseconds)
        guard let listing = try? store.withoutPrompts.list(service: Outbox.service, until: end) else { return nil }
        if !listing.items.isEmpty { return true }
        return listing.problem == nil ? false : nil
    }

    /// Whether no signed-in session of any namespace uses a provider, according to this vault's notes. Works while the
    /// vault is locked.
    ///
    /// - Parameter isLeftOut: returns whether to ignore the session with that name. Not called for a session whose name
    ///   is locked.
    /// - Throws: the error of reading the notes; ``Status/corrupt`` if a note is damaged.
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

    /// For each session that ended while locked and is unlocked now, queues its tokens for revocation and clears its
    /// record.
    func finishEnds(service: String?, _ options: SessionOptions) throws(TokenKeepError) {
        let call = try store.sessionCall(options.timeoutMilliseconds)
        for file in try notes(call).files where !call.deadline.hasPassed {
            guard let name = file.name, name.isIn(namespace: store.namespace, service: service),
                let note = try? SessionNote(file.state), note.state == .signedOut, note.endedEpoch != nil
            else { continue }
            // A record that is still locked stays, and a later call clears it.
            try? SessionStorage(store, name, options, call).finishEnd(store.sessionCall(options.timeoutMilliseconds))
        }
    }

    /// The id of this user on this machine: a random UUID, created at first use and kept after a logout. Requests of
    /// guests send it as the header `X-Device-ID`, so that the server recognizes the device.
    public func deviceID() throws(TokenKeepError) -> String {
        try DeviceID.read(store.records, store.sessionCall())
    }

    /// Returns the active account of a service.
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

    /// Whether a session's account is the active account of its service.
    func isActive(_ session: SessionStorage) throws(TokenKeepError) -> Bool {
        try pointer(place(of: session.name.service)) == session.id
    }

    /// The name under which the pointer to a service's active account is stored.
    func place(of service: String) throws(TokenKeepError) -> ItemName {
        try ItemName(namespace: store.namespace, service: service, account: "")
    }

    private static let mostInHint = 5

    /// A hint with the command that signs in. If `account` is nil, the command contains the placeholder `ACCOUNT`.
    static func signIn(_ service: String, _ account: String?) -> String {
        let account = account.map(SignInCommand.word) ?? "ACCOUNT"
        return "sign in: tokenkeep session begin \(SignInCommand.word(service)) \(account)"
    }

    /// A hint that lists the signed-in accounts of a service, and the one with the most similar name. If no account is
    /// signed in, the hint is to sign in.
    ///
    /// - Parameter account: the account that the user named; nil if the user named none.
    func hint(of service: String, insteadOf account: String? = nil) throws(TokenKeepError) -> String {
        let notes = try files.notes().files.filter { file in
            file.name?.isIn(namespace: store.namespace, service: service) == true
        }
        let accounts = notes.compactMap { file -> String? in
            guard let note = try? SessionNote(file.state), note.state != .signedOut else { return nil }
            return file.name?.account
        }
        guard !accounts.isEmpty else {
            // If the service has notes, the user did not mistype its name: its accounts are signed out. So no other
            // service is suggested.
            let nearest = notes.isEmpty ? nearestService(to: service) : nil
            return (nearest.map { "the nearest service is \($0); " } ?? "") + Sessions.signIn(service, account)
        }
        let shown = accounts.sorted().prefix(Sessions.mostInHint).joined(separator: ", ")
        let others = accounts.count - Sessions.mostInHint
        let all = "its accounts: \(shown)\(others > 0 ? " and \(others) more" : "")"
        let nearest = account.flatMap { NearestName.of($0, among: accounts) }
        guard let nearest else { return all }
        guard nearest == account else { return "the nearest account is \(nearest); \(all)" }
        // The two names are equal as text, but their bytes differ, so they name two different items.
        return "the account \(nearest) is written in another Unicode form (NFC, NFD); \(all)"
    }

    /// The signed-in service whose name is most similar to `service`; nil if no name is similar.
    private func nearestService(to service: String) -> String? {
        let services = (try? files.notes().files)?.compactMap { file -> String? in
            guard let name = file.name, name.namespace == store.namespace, let note = try? SessionNote(file.state),
                note.state != .signedOut
            else { return nil }
            return name.service
        }
        return NearestName.of(service, among: services ?? [])
    }

    /// Reads the item ID of a service's active account; nil if no account is active, or if the pointer's file is
    /// damaged.
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
    /// - Throws: ``Status/notFound``, with a hint that lists the accounts, if nobody is signed in as the account.
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

    /// Makes an account the active one, unless its service already has an active account.
    func activateIfNoneIs(_ name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        guard try pointer(place(of: name.service)) == nil else { return }
        try point(to: name, call)
    }

    private func point(to name: ItemName, _ call: CallContext) throws(TokenKeepError) {
        let id = try files.id(of: name, call)
        try files.change(.active, of: place(of: name.service), call) { _ in id }
        store.changeMarks.change(id)
    }

    /// Makes the account of a session inactive, if it is the active one of its service.
    func deactivate(_ session: SessionStorage, _ call: CallContext) throws(TokenKeepError) {
        // Most accounts are not active. Checking this first avoids locking the pointer for them.
        guard try isActive(session) else { return }
        try files.change(.active, of: place(of: session.name.service), call) { file in
            file?.state == session.id ? [] : nil
        }
    }
}
