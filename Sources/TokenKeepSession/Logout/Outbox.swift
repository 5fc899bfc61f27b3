public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// The tokens to be revoked at the server, each stored as an item of one service (docs/format.md, section 11).
public struct Outbox: Sendable {
    /// The service of the outbox's items.
    public static let service = "org.tokenkeep.session.outbox"
    /// The maximum time, in seconds, that a token stays in the outbox: 30 days. Then it is removed without revocation.
    private static let longestWait: Int64 = 30 * 86_400
    /// The maximum time, in milliseconds, that a call spends on revoking tokens of earlier logouts.
    private static let briefLimit: UInt32 = 250

    /// The outcome of a flush.
    public struct Flushed: Sendable {
        /// The number of tokens that the server has revoked.
        public internal(set) var sent = 0
        /// The number of tokens that are still in the outbox.
        public internal(set) var left = 0
        /// The number of tokens that were removed unrevoked, because they were in the outbox for more than 30 days.
        public internal(set) var dropped = 0
        /// The last error of listing, reading or revoking tokens; nil if there was no error.
        public internal(set) var problem: TokenKeepError?
    }

    /// A token in the outbox, and the item that stores it.
    struct Entry {
        let name: ItemName
        let json: JSONValue
        /// The item's attributes. They contain the session's ID, so that a session's tokens can be counted without
        /// reading them.
        let attributes: ItemAttributes
        /// The condition under which the entry may be saved again: it was not changed or cleared by another process.
        let precondition: SaveRequest.Precondition
    }

    static let sessionAttribute = "session"

    let store: Store
    let options: SessionOptions
    /// The open sessions whose transports send the tokens; empty if the transport of ``options`` sends all tokens.
    private let sessions: [(name: ItemName, options: SessionOptions)]
    /// Whether the user may be asked to unlock a locked token. Only a flush that the user has started may ask.
    private var mayPrompt = true
    var mark: OutboxMark { OutboxMark(store.records, namespace: store.namespace) }

    /// The outbox of the store's namespace.
    public init(_ store: Store, _ options: SessionOptions) {
        self.store = store
        self.options = options
        sessions = []
    }

    /// The outbox of the store's namespace, which sends tokens through the transports of the store's open sessions. A
    /// token is sent by the session of its account, otherwise by another session of the same service.
    ///
    /// - Parameter fallback: sends the tokens for which no session is open; nil if those tokens are not sent.
    /// - Throws: ``Status/unsupported`` if there is neither an open session nor a fallback.
    public init(openSessionsOf store: Store, fallback: SessionTransport? = nil) throws(TokenKeepError) {
        self.store = store
        var options = SessionOptions(transport: fallback)
        // The fallback finds the server through the provider. Setting this passes its error for a missing provider on
        // to the caller.
        options.transportNotesSending = fallback != nil
        self.options = options
        sessions = store.openSessions.all.compactMap { $0 as? SessionEngine }.map { ($0.name, $0.options) }
        guard sessions.isEmpty else { return }
        _ = try options.requiredTransport(orThrow: "no session is open that asks a server")
    }

    /// The options for sending the tokens of a session. They have no transport if neither an open session nor a
    /// fallback can send them.
    private func options(for session: ItemName) -> SessionOptions {
        let ofService = sessions.filter { $0.name.service == session.service }
        return (ofService.first { $0.name == session } ?? ofService.first)?.options ?? options
    }

    func add(
        _ token: SecretBytes, isRefresh: Bool, of session: ItemName, _ provider: String?, level: AccessLevel?
    ) throws(TokenKeepError) {
        let name = try ItemName(
            namespace: store.namespace, service: Outbox.service, account: Hexadecimal.text(RandomBytes.make(8)))
        let json = try JSONValue.object()
        try json.set("tokenkeep_outbox", 1)
        try json.set("service", session.service)
        try json.set("account", session.account)
        if let provider { try json.set("provider", provider) }
        try json.set("token", token)
        try json.set("token_type_hint", isRefresh ? "refresh_token" : "access_token")
        try json.set("since", options.clock().wall)
        try json.set("not_before", 0)
        // Keeps other processes from removing the mark until the token is saved. A process that holds the lock for long, for
        // example because it is stopped, must not prevent a logout, so the token is added even without the lock.
        let limit = try store.sessionCall(Outbox.briefLimit)
        let lock = try? OutboxLock.acquireForAdding(store.records, limit)
        // A process that holds the lock and removes the mark notices a token without a lock by the changed mark.
        try mark.set(changing: lock == nil)
        let id = try SessionFiles(store.records).id(of: session, store.sessionCall(options.timeoutMilliseconds))
        let attributes = try ItemAttributes([(name: Outbox.sessionAttribute, value: Hexadecimal.text(id))])
        try save(Entry(name: name, json: json, attributes: attributes, precondition: .none), level: level)
        if lock == nil { try mark.set(changing: true) }
        _ = consume lock
    }

    func save(_ entry: Entry, level: AccessLevel?) throws(TokenKeepError) {
        var request = try SaveRequest(
            name: entry.name, secret: entry.json.serialized(), accessLevel: level == .memoryOnly ? nil : level,
            label: "token to be revoked", attributes: entry.attributes)
        request.keepsWhenLocked = true
        request.precondition = entry.precondition
        try store.withoutPrompts.save(request)
    }

    /// Revokes every due token of one service, or of all services if `service` is nil, within
    /// ``SessionOptions/timeoutMilliseconds``. Before that, queues the tokens of sessions that ended while locked and
    /// are unlocked now.
    ///
    /// If a request gets no answer, this flush sends no other token of the same service. Unsent tokens stay in the
    /// outbox.
    ///
    /// - Throws: ``Status/unsupported`` if there is no transport; the errors of listing the outbox.
    public func flush(service: String? = nil) throws(TokenKeepError) -> Flushed {
        if sessions.isEmpty { _ = try options.requiredTransport() }
        try Sessions(store).finishEnds(service: service, options)
        return try flush { service == nil || $0["service"]?.text == service }
    }

    /// Whether the outbox may have tokens. Checks a mark and does not list the outbox.
    package var mayHaveTokens: Bool { mark.isSet }

    /// Revokes the due tokens of a service, unless a missing mark shows that the outbox is empty. Never prompts.
    func flushIfMarked(service: String) throws(TokenKeepError) -> Flushed {
        guard mark.isSet else { return Flushed() }
        return try withoutPrompts.flush(service: service)
    }

    var withoutPrompts: Outbox {
        var outbox = self
        outbox.mayPrompt = false
        return outbox
    }

    /// Revokes the due tokens of one session. Never prompts.
    package func flush(of session: ItemName) throws(TokenKeepError) -> Flushed {
        guard mark.isSet else { return Flushed() }
        return try withoutPrompts.flush {
            $0["service"]?.text == session.service && $0["account"]?.text == session.account
        }
    }

    /// Revokes due tokens of one service, for at most 250 ms. Called after the server has answered a renewal. Never
    /// prompts, and ignores failures, because unsent tokens stay in the outbox.
    func flushBriefly(service: String) {
        guard mark.isSet else { return }
        let end = Deadline(milliseconds: Outbox.briefLimit)
        _ = try? withoutPrompts.flush(until: end) { $0["service"]?.text == service }
    }

    func flush(
        until end: Deadline? = nil, _ isMeant: (JSONValue) -> Bool
    ) throws(TokenKeepError) -> Flushed {
        let end = end ?? Deadline(milliseconds: options.timeoutMilliseconds)
        var result = Flushed()
        let listing =
            try mayPrompt
            ? store.list(service: Outbox.service, until: end)
            : store.withoutPrompts.list(service: Outbox.service, until: end)
        // If the mark is not set, the outbox is empty, so an incomplete listing hides no token and is no problem.
        if mark.isSet { result.problem = listing.problem }
        if listing.items.isEmpty, listing.problem == nil { removeMark(until: end) }
        var silent: Set<String> = []
        for item in listing.items {
            do throws(TokenKeepError) {
                guard !end.hasPassed else {
                    result.left += 1
                    continue
                }
                guard let entry = try read(item.name, until: end), isMeant(entry.json) else { continue }
                let limit = end.within(milliseconds: options.answerLimit)
                try revokeIfDue(entry, until: limit, &silent, &result)
            } catch {
                result.left += 1
                result.problem = error
            }
        }
        if result.sent + result.dropped > 0, result.left == 0 { removeMark(until: end) }
        return result
    }

    /// Removes the mark if no token waits and no process adds a token now. Otherwise a later flush removes the mark.
    ///
    /// Lists the outbox while the lock is held. A token without a mark remains only if the other process did not wait for
    /// the lock, and a process is killed just when the mark is removed.
    private func removeMark(until end: Deadline) {
        guard mark.isSet, let lock = try? OutboxLock.tryForRemoving(store.records) else { return }
        let identity = mark.identity
        // A process that waited too long for the lock changes the mark, or adds its token just after this comparison.
        if isEmpty(until: end), mark.remove(if: identity), !isEmpty(until: end) { try? mark.set() }
        _ = consume lock
    }

    /// Whether the outbox is certainly empty. False if it cannot be listed completely.
    private func isEmpty(until end: Deadline) -> Bool {
        guard let listing = try? store.withoutPrompts.list(service: Outbox.service, until: end) else { return false }
        return listing.items.isEmpty && listing.problem == nil
    }

    private func revokeIfDue(
        _ entry: Entry, until end: Deadline, _ silent: inout Set<String>, _ result: inout Flushed
    ) throws(TokenKeepError) {
        let service = entry.json["service"]?.text ?? ""
        let now = options.clock().wall
        let age = now.subtractingReportingOverflow(entry.json["since"]?.integer ?? now)
        if !age.overflow, age.partialValue > Outbox.longestWait {
            try clear(entry)
            result.dropped += 1
            return
        }
        guard (entry.json["not_before"]?.integer ?? 0) <= now, !silent.contains(service),
            try coolDown(of: entry) == nil, try !endsLiveSession(entry)
        else {
            result.left += 1
            return
        }
        guard let response = try ask(entry, until: end) else {
            silent.insert(service)
            result.left += 1
            return
        }
        if try judge(response, entry) { result.sent += 1 } else { result.left += 1 }
    }

    /// Asks the server to revoke one token. Returns the answer; nil if there is no transport or no answer.
    private func ask(_ entry: Entry, until end: Deadline) throws(TokenKeepError) -> SessionResponse? {
        let json = entry.json
        guard let token = try json["token"]?.secret() else {
            throw TokenKeepError(
                .corrupt, "the entry \(entry.name.account) of the outbox has no token",
                hint: "remove it: tokenkeep clear \(Outbox.service) ENTRY")
        }
        let session = try session(of: entry)
        let options = options(for: session)
        guard let transport = options.transport else { return nil }
        let request = try SessionRequest(
            .revoke, session, token, isRefreshToken: json["token_type_hint"]?.text == "refresh_token",
            of: json["provider"]?.text, store, options: options, deadline: end)
        do throws(TokenKeepError) {
            return try transport(request)
        } catch {
            options.explain?("the server was not asked: \(error.message)")
            // These errors mean that the provider's file is wrong or names no revocation endpoint. Another attempt
            // would fail in the same way, so the error is reported.
            if options.transportNotesSending, [.unsupported, .invalid, .denied].contains(error.status) { throw error }
            return nil
        }
    }

    /// Clears an entry if the server's answer means that the token is invalid now. Otherwise notes in the entry when to
    /// try again.
    ///
    /// - Returns: true if the token is invalid now and the entry was cleared.
    private func judge(_ response: SessionResponse, _ entry: Entry) throws(TokenKeepError) -> Bool {
        if response.saysRevoked {
            try clear(entry)
            return true
        }
        let now = options.clock().wall
        let wait = response.wait(serverTime: now) ?? 300
        try entry.json.set("not_before", now + wait)
        let addition = response.isPage ? " with a page" : response.hasError ? " with an error" : ""
        options.explain?("the server answered \(response.status)\(addition)")
        do throws(TokenKeepError) {
            try save(entry, level: nil)
        } catch {
            // A conflict means that another process has already revoked the token or noted the wait, so nothing remains
            // to be done.
            guard error.status != .conflict else { return false }
            try noteCoolDown(wait, of: entry)
            throw error
        }
        return false
    }

    /// Writes the wait into the session's note. Used if the entry, which should store the wait, cannot be saved.
    private func noteCoolDown(_ seconds: Int64, of entry: Entry) throws(TokenKeepError) {
        let now = options.clock()
        let session = try session(of: entry)
        try SessionFiles(store.records).change(.note, of: session, store.sessionCall(options.timeoutMilliseconds)) {
            file in
            guard var note = file.flatMap({ try? SessionNote($0.state) }), isAbout(note, entry) else { return nil }
            note.coolDown(after: .asksToWait(seconds), SessionNote.asksToWait, now: now)
            return note.serialized()
        }
    }

    /// The seconds until the server of an entry may be asked again, according to the session's note; nil if it may be
    /// asked now.
    private func coolDown(of entry: Entry) throws(TokenKeepError) -> Int64? {
        guard let file = (try? SessionFiles(store.records).read(.note, of: session(of: entry))) ?? nil,
            let note = try? SessionNote(file.state), isAbout(note, entry)
        else { return nil }
        return note.coolDown(at: options.clock())
    }

    /// Whether revoking an entry could end the account's present session. Some servers (Keycloak, Google, Auth0) revoke
    /// all tokens of user and client together. Such an entry stays in the outbox until that session's logout.
    private func endsLiveSession(_ entry: Entry) throws(TokenKeepError) -> Bool {
        guard let provider = entry.json["provider"]?.text, !provider.isEmpty,
            let file = (try? SessionFiles(store.records).read(.note, of: session(of: entry))) ?? nil,
            let note = try? SessionNote(file.state)
        else { return false }
        return note.state == .user && note.provider == provider
    }

    /// Whether a note's cool-down applies to the entry's server. The account's next session may use another server.
    private func isAbout(_ note: SessionNote, _ entry: Entry) -> Bool {
        note.state == .signedOut || note.provider == entry.json["provider"]?.text ?? ""
    }

    private func session(of entry: Entry) throws(TokenKeepError) -> ItemName {
        let json = entry.json
        return try ItemName(
            namespace: store.namespace, service: json["service"]?.text ?? "", account: json["account"]?.text ?? "")
    }

    func clear(_ entry: Entry) throws(TokenKeepError) {
        guard mayPrompt else { return try store.withoutPrompts.clear(entry.name) }
        try store.clear(service: entry.name.service, account: entry.name.account)
    }

    func read(_ name: ItemName, until end: Deadline) throws(TokenKeepError) -> Entry? {
        let item: TokenItem
        do throws(TokenKeepError) {
            item =
                try mayPrompt
                ? store.load(service: name.service, account: name.account, until: end)
                : store.withoutPrompts.load(name, until: end)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
        return item.secret.withUnsafeBytes { JSONValue(parsing: $0) }.map {
            Entry(
                name: name, json: $0, attributes: item.details.attributes, precondition: .version(item.details.version))
        }
    }
}
