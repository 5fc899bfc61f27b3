public import TokenKeepCore
public import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Tokens that are to be revoked at the server: items of one service, each with one token (docs/format.md, section 11).
public struct Outbox: Sendable {
    /// The service of the outbox's items.
    public static let service = "org.tokenkeep.session.outbox"
    /// A token that could not be revoked for 30 days is dropped.
    private static let longestWait: Int64 = 30 * 86_400
    /// The time for a call that revokes tokens of earlier logouts besides, in milliseconds.
    private static let briefLimit: UInt32 = 250

    /// The outcome of a flush.
    public struct Flushed: Sendable {
        /// Tokens that the server revoked.
        public internal(set) var sent = 0
        /// Tokens that still wait.
        public internal(set) var left = 0
        /// Tokens that were dropped after 30 days.
        public internal(set) var dropped = 0
        /// The reason why a token could not be read; nil if all could.
        public internal(set) var problem: TokenKeepError?
    }

    /// A token of the outbox: the item's name and its content.
    struct Entry {
        let name: ItemName
        let json: JSONValue
        /// The ID of the session, so that its tokens are counted without being read.
        let attributes: ItemAttributes
        /// The condition of a save: an entry that another process has cleared since must not come back.
        let precondition: SaveRequest.Precondition
    }

    static let sessionAttribute = "session"

    let store: Store
    let options: SessionOptions
    /// The options of the sessions that ask the servers; empty if ``options`` have the transport for all tokens.
    private let sessions: [(name: ItemName, options: SessionOptions)]
    /// Whether a locked token is asked for: only if the user asked for the flush.
    private var mayPrompt = true
    var mark: OutboxMark { OutboxMark(store.records) }

    /// The outbox of a store's namespace.
    public init(_ store: Store, _ options: SessionOptions) {
        self.store = store
        self.options = options
        sessions = []
    }

    /// The outbox of a store's namespace. Its tokens are sent by the open sessions of the store: by that of the token's
    /// account, else by one of its service.
    ///
    /// - Parameter fallback: asks the servers for which no session is open; nil if nothing does.
    /// - Throws: ``Status/unsupported`` if nothing asks any server.
    public init(openSessionsOf store: Store, fallback: SessionTransport? = nil) throws(TokenKeepError) {
        self.store = store
        var options = SessionOptions(transport: fallback)
        // Without a provider it cannot reach the server: then the call says so.
        options.transportNotesSending = fallback != nil
        self.options = options
        sessions = store.openSessions.all.compactMap { $0 as? SessionEngine }.map { ($0.name, $0.options) }
        guard sessions.isEmpty else { return }
        _ = try options.requiredTransport(orThrow: "no session is open that asks a server")
    }

    /// The options for the tokens of a session; without a transport if nothing asks its server.
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
        try mark.set()
        let id = try SessionFiles(store.records).id(of: session, store.sessionCall(options.timeoutMilliseconds))
        let attributes = try ItemAttributes([(name: Outbox.sessionAttribute, value: Hexadecimal.text(id))])
        try save(Entry(name: name, json: json, attributes: attributes, precondition: .none), level: level)
        // A flush that found the outbox empty may have removed the mark meanwhile.
        try mark.set()
    }

    func save(_ entry: Entry, level: AccessLevel?) throws(TokenKeepError) {
        var request = try SaveRequest(
            name: entry.name, secret: entry.json.serialized(), accessLevel: level == .memoryOnly ? nil : level,
            label: "token to be revoked", attributes: entry.attributes)
        request.keepsWhenLocked = true
        request.precondition = entry.precondition
        try store.withoutPrompts.save(request)
    }

    /// Sends every token that is due, of one service or of all, within ``SessionOptions/timeoutMilliseconds``. The tokens
    /// of logouts while their session was locked are queued first, if it is open now.
    ///
    /// After a request that failed, no other token of its service is sent. What is not sent waits for the next flush.
    ///
    /// - Throws: the reason why the outbox cannot be listed, ``Status/unsupported`` without a transport.
    public func flush(service: String? = nil) throws(TokenKeepError) -> Flushed {
        if sessions.isEmpty { _ = try options.requiredTransport() }
        try Sessions(store).finishEnds(service: service, options)
        return try flush { service == nil || $0["service"]?.text == service }
    }

    /// Whether tokens may wait. False costs no listing.
    package var mayHaveTokens: Bool { mark.isSet }

    /// Sends what is due, if anything may wait.
    func flushIfMarked(service: String) throws(TokenKeepError) -> Flushed {
        guard mark.isSet else { return Flushed() }
        return try withoutPrompts.flush(service: service)
    }

    var withoutPrompts: Outbox {
        var outbox = self
        outbox.mayPrompt = false
        return outbox
    }

    /// Sends the tokens of one session that are due.
    package func flush(of session: ItemName) throws(TokenKeepError) -> Flushed {
        guard mark.isSet else { return Flushed() }
        return try withoutPrompts.flush {
            $0["service"]?.text == session.service && $0["account"]?.text == session.account
        }
    }

    /// Sends what a quarter of a second allows, of one service, while its server is known to answer. Never prompts. A
    /// failure is ignored: the tokens wait.
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
        // Without the mark nothing waits, whatever the listing could not see.
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

    /// Removes the mark if no token waits. A process that adds one meanwhile sets it again.
    private func removeMark(until end: Deadline) {
        guard isEmpty(until: end) else { return }
        mark.remove()
        if !isEmpty(until: end) { try? mark.set() }
    }

    /// Whether certainly no token waits.
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

    /// Sends one token of the outbox. Returns nil if the server did not answer.
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
            // The provider's file is wrong, or has no such endpoint.
            if options.transportNotesSending, [.unsupported, .invalid, .denied].contains(error.status) { throw error }
            return nil
        }
    }

    /// Clears an entry that the server answered with 200: it says so for unknown tokens too (RFC 7009 section 2.2). A page
    /// is no such answer.
    ///
    /// - Returns: whether the token is revoked.
    private func judge(_ response: SessionResponse, _ entry: Entry) throws(TokenKeepError) -> Bool {
        if response.status == 200, !response.isPage {
            try clear(entry)
            return true
        }
        let now = options.clock().wall
        let wait = response.wait(serverTime: now) ?? 300
        try entry.json.set("not_before", now + wait)
        options.explain?("the server answered \(response.status)\(response.isPage ? " with a page" : "")")
        do throws(TokenKeepError) {
            try save(entry, level: nil)
        } catch {
            // Another process has sent the token, or noted the wait.
            guard error.status != .conflict else { return false }
            try noteCoolDown(wait, of: entry)
            throw error
        }
        return false
    }

    /// Notes the server's wait beside the session's record, if the place of the entry cannot be written.
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

    /// The seconds before an entry's server may be asked again, by the session's note; nil if it may be asked now.
    private func coolDown(of entry: Entry) throws(TokenKeepError) -> Int64? {
        guard let file = (try? SessionFiles(store.records).read(.note, of: session(of: entry))) ?? nil,
            let note = try? SessionNote(file.state), isAbout(note, entry)
        else { return nil }
        return note.coolDown(at: options.clock())
    }

    /// Whether the revocation of an entry could end the account's present session: some servers (Keycloak, Google, Auth0)
    /// revoke every token of the user and the client with one. The entry waits for the session's logout.
    private func endsLiveSession(_ entry: Entry) throws(TokenKeepError) -> Bool {
        guard let provider = entry.json["provider"]?.text, !provider.isEmpty,
            let file = (try? SessionFiles(store.records).read(.note, of: session(of: entry))) ?? nil,
            let note = try? SessionNote(file.state)
        else { return false }
        return note.state == .user && note.provider == provider
    }

    /// Whether the cool-down of a note is that of the entry's server: the account's next session may have another one.
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
