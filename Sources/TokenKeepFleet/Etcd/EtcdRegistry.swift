import CSodium
package import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

/// A registry in etcd, accessed by the JSON gateway under `/v3/`.
///
/// A call is sent to the endpoint that answered last and, if that endpoint is unavailable, to the others in turn. The
/// authentication token is kept in this object alone.
package final class EtcdRegistry: Registry {
    /// The timeout of a request to one endpoint, in milliseconds.
    private static let limit: UInt32 = 5000
    /// The timeout of a change, in milliseconds. A cluster without a leader replies after 7 s that nothing was written,
    /// so the timeout is longer.
    private static let changeLimit: UInt32 = 8000
    /// The maximum number of keys on one page of a listing.
    private static let page = 200
    /// The maximum number of pages of a listing: enough for 256 devices with 64 sessions, orders and results each.
    private static let mostPages = 500
    /// The maximum total length of a listing's keys and values, in bytes.
    private static let longestList = 32 << 20
    /// The timeout of a whole listing, in milliseconds.
    private static let listLimit: UInt32 = 120_000
    /// The maximum length of a value, in bytes. A longer value is not sent.
    package static let longestValue = 4096

    let link: EtcdLink
    private let isAdmin: Bool
    private(set) var token: SecretBytes?
    private var present = 0
    /// Whether the request of a watch stays open, so that progress requests can be sent on it.
    var keepsWatchesOpen = true
    package private(set) var clockOffset: Int64?

    /// Makes a registry. Sends no request.
    ///
    /// - Parameter isAdmin: whether the user is etcd's root, which changes the hints of errors.
    /// - Throws: ``Status/unsupported`` if libcurl is missing.
    package init(_ settings: EtcdSettings, isAdmin: Bool = false) throws(TokenKeepError) {
        link = try EtcdLink(settings)
        self.isAdmin = isAdmin
    }

    package var endpoint: String { current.text }
    var current: WebAddress { link.settings.endpoints[present] }

    package func disconnect() { link.disconnect() }

    /// Switches to the next endpoint, after a watch ended or an endpoint gave no valid answer.
    func leaveEndpoint() { present = (present + 1) % link.settings.endpoints.count }

    // MARK: Calls

    /// A registry's answer: the parsed value, or the status and message of an error.
    private enum Answer<Value> {
        case value(Value)
        case refusal(UInt32, String)
    }

    /// Sends a request. Authenticates first if there is no token, and once more if the token has expired.
    ///
    /// - Parameter read: parses an answer; nil if a registry cannot have sent it. The next endpoint is then tried.
    func post<Value>(
        _ path: String, _ json: String, limit: UInt32 = EtcdRegistry.limit, _ read: (WireValue) -> Value?
    ) throws(RegistryFailure) -> Value {
        try post(path, EtcdRegistry.needing { () throws(TokenKeepError) in try SecretBytes(json) }, limit: limit, read)
    }

    func post<Value>(
        _ path: String, _ body: SecretBytes, limit: UInt32 = EtcdRegistry.limit, _ read: (WireValue) -> Value?
    ) throws(RegistryFailure) -> Value {
        try authenticateIfNeeded()
        switch try sendToAny(path, body, limit, read) {
        case .value(let value): return value
        case .refusal(let status, let message):
            guard link.settings.user != nil, EtcdAnswers.wantsNewToken(message) else {
                throw failure(status, message)
            }
            // After a change of etcd's users, all devices must authenticate again. Each device first waits a random
            // time, so that they do not do this at the same moment.
            if message.contains("revision of auth store") {
                ShortPause.wait(milliseconds: randombytes_uniform(300))
            }
        }
        token = nil
        try authenticateIfNeeded()
        switch try sendToAny(path, body, limit, read) {
        case .value(let value): return value
        case .refusal(let status, let message): throw failure(status, message)
        }
    }

    private func failure(_ status: UInt32, _ message: String) -> RegistryFailure {
        EtcdAnswers.failure(status, message, from: current.origin, isAdmin: isAdmin)
    }

    private func nonsense() -> RegistryFailure {
        RegistryFailure(
            .away,
            TokenKeepError(
                .unavailable, "the answer of \(current.origin) is not that of a registry", module: "registry",
                hint: EtcdAnswers.addressHint))
    }

    /// The pause, in milliseconds, in which a cluster without a leader usually elects one.
    private static let electionPause: UInt32 = 1000

    /// Sends a request to the endpoints in turn until a registry answers. If every endpoint refuses, one of them because
    /// the cluster is electing a leader, the request is sent once more to each: every request may be repeated. The
    /// renewal of a lease is not, because its errors have the status 200.
    private func sendToAny<Value>(
        _ path: String, _ body: SecretBytes?, _ limit: UInt32, _ read: (WireValue) -> Value?
    ) throws(RegistryFailure) -> Answer<Value> {
        var round = try sendOnceToAny(path, body, limit, read)
        if case .outage(_, isElection: true) = round {
            ShortPause.wait(milliseconds: EtcdRegistry.electionPause)
            round = try sendOnceToAny(path, body, limit, read)
        }
        switch round {
        case .answer(let answer): return answer
        case .outage(let failure, _): throw failure
        }
    }

    /// The result of sending a request to the endpoints in turn.
    private enum Round<Value> {
        case answer(Answer<Value>)
        /// No endpoint gave a registry's answer: the last failure, and whether a member said that the cluster is electing a
        /// leader.
        case outage(RegistryFailure, isElection: Bool)
    }

    private func sendOnceToAny<Value>(
        _ path: String, _ body: SecretBytes?, _ limit: UInt32, _ read: (WireValue) -> Value?
    ) throws(RegistryFailure) -> Round<Value> {
        var last: RegistryFailure?
        var isElection = false
        for _ in link.settings.endpoints {
            let outcome = try EtcdRegistry.needing { () throws(TokenKeepError) in
                try link.send(path, to: current, body, token: token, limit: limit)
            }
            switch outcome {
            case .answer(200, let json, _, _):
                if let value = json.flatMap(read) {
                    noteClock()
                    return .answer(.value(value))
                }
                last = nonsense()
            case .answer(let status, _, let message, _):
                guard EtcdAnswers.isOutage(status, message) else {
                    noteClock()
                    return .answer(.refusal(status, message))
                }
                last = failure(status, message)
                isElection = isElection || EtcdAnswers.isElection(message)
            case .failure(let failure): last = failure
            }
            leaveEndpoint()
        }
        return .outage(last ?? nonsense(), isElection: isElection)
    }

    /// Stores the offset of the server's clock. Called only after an answer of a registry, because the clock of another
    /// server, such as a captive portal, may be wrong.
    private func noteClock() {
        guard let server = HTTPDate.seconds(link.date) else { return }
        clockOffset = server - UnixTime.now.rawValue
    }

    static func needing<Value>(_ body: () throws(TokenKeepError) -> Value) throws(RegistryFailure) -> Value {
        do throws(TokenKeepError) {
            return try body()
        } catch {
            throw RegistryFailure(.fault, error)
        }
    }

    // MARK: Authentication

    private func authenticateIfNeeded() throws(RegistryFailure) {
        guard token == nil, let user = link.settings.user else { return }
        let body = try EtcdRegistry.needing { () throws(TokenKeepError) in
            let json = try JSONValue.object()
            try json.set("name", user)
            if let password = link.settings.password { try json.set("password", password) }
            return try json.serialized()
        }
        var last: RegistryFailure?
        for _ in link.settings.endpoints {
            do throws(RegistryFailure) {
                return token = try authenticate(body)
            } catch {
                guard error.kind == .away || error.kind == .certificate else { throw error }
                last = error
            }
            leaveEndpoint()
        }
        if let last { throw last }
    }

    /// Authenticates at the present endpoint. Returns the header with the token; nil if the registry has no users.
    private func authenticate(_ body: SecretBytes) throws(RegistryFailure) -> SecretBytes? {
        let outcome = try EtcdRegistry.needing { () throws(TokenKeepError) in
            try link.send(
                "/v3/auth/authenticate", to: current, body, token: nil, limit: EtcdRegistry.limit, isSecret: true)
        }
        switch outcome {
        case .failure(let failure): throw failure
        case .answer(200, _, _, let body?):
            let header = try EtcdRegistry.needing { () throws(TokenKeepError) in try EtcdRegistry.header(of: body) }
            guard let header else { throw nonsense() }
            noteClock()
            return header
        case .answer(let status, _, let message, _):
            guard status != 200 else { throw nonsense() }
            if !EtcdAnswers.isOutage(status, message) { noteClock() }
            if message.contains("authentication is not enabled") { return nil }
            throw failure(status, message)
        }
    }

    /// The header with an answer's token; nil if there is no token or a header cannot contain its characters.
    private static func header(of answer: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        let json = answer.withUnsafeBytes { JSONValue(parsing: $0) }
        guard let token = try json?["token"]?.secret(), token.count > 0 else { return nil }
        let isPlain = token.withUnsafeBytes { bytes in bytes.allSatisfy { (0x21...0x7E).contains($0) } }
        return isPlain ? try SecretText.joined("Authorization: ", token) : nil
    }

    // MARK: Reading

    package func version() throws(RegistryFailure) -> String {
        let answer = try sendToAny("/version", nil, EtcdRegistry.limit) { json in
            json["etcdserver"]?.text.flatMap { $0.utf8.count <= 32 ? EtcdAnswers.printable($0.utf8) : nil }
        }
        switch answer {
        case .value(let version): return version
        case .refusal(let status, let message): throw failure(status, message)
        }
    }

    package func list(prefix: String, keysOnly: Bool) throws(RegistryFailure) -> RegistryListing {
        var listing = RegistryListing()
        var start = Array(prefix.utf8)
        var (length, limit) = (0, EtcdRegistry.page)
        let deadline = Deadline(milliseconds: EtcdRegistry.listLimit)
        for _ in 0..<EtcdRegistry.mostPages {
            guard !deadline.hasPassed else { throw unending() }
            let page: EtcdPage
            do throws(RegistryFailure) {
                page = try self.page(prefix, from: start, limit, keysOnly: keysOnly, revision: listing.revision)
            } catch {
                // The page is too long because somebody wrote longer values than a device writes, so request fewer
                // entries.
                guard error.kind == .tooLong, limit > 1 else { throw error }
                limit = max(1, limit / 4)
                continue
            }
            limit = min(EtcdRegistry.page, limit * 2)
            if listing.revision == 0 { (listing.revision, listing.cluster) = (page.revision, page.cluster) }
            length += page.length
            guard length <= EtcdRegistry.longestList else { throw unending() }
            listing.entries += page.entries
            guard let next = page.next else { return listing }
            start = next
        }
        throw unending()
    }

    private func page(
        _ prefix: String, from start: [UInt8], _ limit: Int, keysOnly: Bool, revision: Int64
    ) throws(RegistryFailure) -> EtcdPage {
        let body = EtcdWire.range(
            from: start, to: EtcdWire.end(ofPrefix: prefix), limit: limit, keysOnly: keysOnly, revision: revision)
        return try post("/v3/kv/range", body) { EtcdPage($0, prefix: prefix, from: start) }
    }

    private func unending() -> RegistryFailure {
        RegistryFailure(
            .tooLong,
            TokenKeepError(
                .unavailable, "the list of \(current.origin) does not end", module: "registry",
                hint: "its operator: tokenkeep fleet admin list shows who has too many keys"))
    }

    // MARK: Changing

    package func change(
        _ changes: [RegistryChange], ifAbsent absent: [String]
    ) throws(RegistryFailure) -> Bool {
        try change(changes, absent.map { EtcdWire.compare($0, isPresent: false) })
    }

    package func change(
        _ changes: [RegistryChange], ifPresent present: [String]
    ) throws(RegistryFailure) -> Bool {
        try change(changes, present.map { EtcdWire.compare($0, isPresent: true) })
    }

    package func change(
        _ changes: [RegistryChange], ifUnchanged revisions: [String: Int64]
    ) throws(RegistryFailure) -> Bool {
        try change(changes, revisions.map { EtcdWire.compare($0.key, changedAt: $0.value) })
    }

    private func change(_ changes: [RegistryChange], _ compare: [String]) throws(RegistryFailure) -> Bool {
        for change in changes {
            guard case .put(_, let value, _) = change, value.count > EtcdRegistry.longestValue else { continue }
            throw RegistryFailure(.fault, TokenKeepError(.invalid, "a value of the registry is longer than 4096 bytes"))
        }
        let operations = changes.map(EtcdWire.operation).joined(separator: ",")
        let body = #"{"compare":[\#(compare.joined(separator: ","))],"success":[\#(operations)]}"#
        return try post("/v3/kv/txn", body, limit: EtcdRegistry.changeLimit) { answer in
            EtcdWire.Header(answer).map { _ in answer["succeeded"]?.isTrue == true }
        }
    }

    package func grant(seconds: Int64) throws(RegistryFailure) -> Int64 {
        try post("/v3/lease/grant", #"{"TTL":"\#(seconds)"}"#) { answer in
            answer["ID"]?.integer.flatMap { $0 != 0 ? $0 : nil }
        }
    }

    package func renew(lease: Int64) throws(RegistryFailure) {
        // The gateway answers this request with a stream. An error in a stream has the HTTP status 200, so the text of
        // the answer decides.
        let answer = try post("/v3/lease/keepalive", #"{"ID":"\#(lease)"}"#) { answer in
            answer["result"] == nil && answer["error"] == nil ? nil : answer
        }
        if let error = answer["error"] {
            let failure = failure(503, EtcdAnswers.printable((error["message"]?.text ?? "").utf8))
            if failure.kind == .away { leaveEndpoint() }
            throw failure
        }
        guard let left = answer["result"]?["TTL"]?.integer, left > 0 else {
            throw failure(404, "etcdserver: requested lease not found")
        }
    }

    package func timeLeft(lease: Int64) throws(RegistryFailure) -> Int64? {
        let left = try post("/v3/lease/timetolive", #"{"ID":"\#(lease)"}"#) { answer in
            answer["header"].map { _ in answer["TTL"]?.integer }
        }
        return left.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Sends a request that changes users or roles.
    func administer(_ path: String, _ body: SecretBytes) throws(RegistryFailure) {
        try post(path, body) { answer in answer["header"].map { _ in () } }
    }

    package func watch(prefixes: [String], from revision: Int64) throws(RegistryFailure) -> any RegistryWatch {
        try authenticateIfNeeded()
        return try EtcdRegistry.needing { () throws(TokenKeepError) in
            try EtcdWatch(self, prefixes: prefixes, from: revision)
        }
    }
}
