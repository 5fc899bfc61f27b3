import CSodium
package import TokenKeepCore
import TokenKeepOAuth
import TokenKeepSession

/// A registry in etcd, by the JSON gateway under `/v3/`.
///
/// A call goes to the endpoint that answered last; if that endpoint is away, to the others in turn. The token of an
/// authentication stays in this object alone.
package final class EtcdRegistry: Registry {
    /// The time for one endpoint's answer, in milliseconds.
    private static let limit: UInt32 = 5000
    /// The same for a change: without a leader the server answers after 7 s that nothing was written.
    private static let changeLimit: UInt32 = 8000
    /// The keys of one page of a listing.
    private static let page = 200
    /// The pages of a listing: more than the keys of 256 devices with 64 sessions and as many orders and results.
    private static let mostPages = 500
    /// The most bytes of keys and values of a listing.
    private static let longestList = 32 << 20
    /// The time for all pages, in milliseconds.
    private static let listLimit: UInt32 = 120_000
    /// The longest value: a larger one is refused before it is sent.
    package static let longestValue = 4096

    let link: EtcdLink
    private let isAdmin: Bool
    private(set) var token: SecretBytes?
    private var present = 0
    /// Whether the requests of watches stay open, so that the server can be asked whether it is there.
    var keepsWatchesOpen = true
    package private(set) var clockOffset: Int64?

    /// - Parameter isAdmin: whether the user is etcd's root, for the hints of errors.
    /// - Throws: ``Status/unsupported`` without libcurl.
    package init(_ settings: EtcdSettings, isAdmin: Bool = false) throws(TokenKeepError) {
        link = try EtcdLink(settings)
        self.isAdmin = isAdmin
    }

    package var endpoint: String { current.text }
    var current: WebAddress { link.settings.endpoints[present] }

    package func disconnect() { link.disconnect() }

    /// Goes to another endpoint: this one's watch is silent.
    func leaveEndpoint() { present = (present + 1) % link.settings.endpoints.count }

    // MARK: Calls

    /// Sends a request, and authenticates before it, or once more if the token has ended.
    func post(_ path: String, _ json: String, limit: UInt32 = EtcdRegistry.limit) throws(RegistryFailure) -> WireValue {
        try post(path, EtcdRegistry.needing { () throws(TokenKeepError) in try SecretBytes(json) }, limit: limit)
    }

    func post(
        _ path: String, _ body: SecretBytes, limit: UInt32 = EtcdRegistry.limit
    ) throws(RegistryFailure) -> WireValue {
        try authenticateIfNeeded()
        let (status, answer, message) = try sendToAny(path, body, limit)
        if status == 200, let answer { return answer }
        guard link.settings.user != nil, EtcdAnswers.wantsNewToken(message) else {
            throw failure(status, message)
        }
        // Every device meets this answer at once after a change of users.
        if message.contains("revision of auth store") { ShortPause.wait(milliseconds: randombytes_uniform(300)) }
        token = nil
        try authenticateIfNeeded()
        let (again, second, words) = try sendToAny(path, body, limit)
        guard again == 200, let second else { throw failure(again, words) }
        return second
    }

    private func failure(_ status: UInt32, _ message: String) -> RegistryFailure {
        guard status == 200 else {
            return EtcdAnswers.failure(status, message, from: current.origin, isAdmin: isAdmin)
        }
        return EtcdRegistry.nonsense(current)
    }

    static func nonsense(_ server: WebAddress) -> RegistryFailure {
        RegistryFailure(
            .away,
            TokenKeepError(
                .unavailable, "the answer of \(server.origin) is not that of a registry", module: "registry",
                hint: "check the address: an endpoint is that of etcd's clients"))
    }

    /// Asks the endpoints in turn until one answers.
    private func sendToAny(
        _ path: String, _ body: SecretBytes?, _ limit: UInt32
    ) throws(RegistryFailure) -> (UInt32, WireValue?, String) {
        var last: RegistryFailure?
        for _ in link.settings.endpoints {
            let outcome = try EtcdRegistry.needing { () throws(TokenKeepError) in
                try link.send(path, to: current, body, token: token, limit: limit)
            }
            switch outcome {
            case .answer(let status, let json, let message, _):
                noteClock()
                let isNonsense = status < 200 || (status == 200 && json == nil)
                guard isNonsense || EtcdAnswers.isOutage(status, message) else { return (status, json, message) }
                last =
                    isNonsense
                    ? EtcdRegistry.nonsense(current)
                    : EtcdAnswers.failure(status, message, from: current.origin, isAdmin: isAdmin)
            case .failure(let failure): last = failure
            }
            leaveEndpoint()
        }
        throw last ?? EtcdRegistry.nonsense(current)
    }

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

    /// The header with the token; nil if the registry has no users.
    private func authenticate(_ body: SecretBytes) throws(RegistryFailure) -> SecretBytes? {
        let outcome = try EtcdRegistry.needing { () throws(TokenKeepError) in
            try link.send(
                "/v3/auth/authenticate", to: current, body, token: nil, limit: EtcdRegistry.limit, isSecret: true)
        }
        switch outcome {
        case .failure(let failure): throw failure
        case .answer(let status, _, let message, let body):
            noteClock()
            if message.contains("authentication is not enabled") { return nil }
            guard status == 200, let body else { throw failure(status, message) }
            let header = try EtcdRegistry.needing { () throws(TokenKeepError) in try EtcdRegistry.header(of: body) }
            guard let header else { throw EtcdRegistry.nonsense(current) }
            return header
        }
    }

    /// The header with an answer's token; nil if it has none that a header can carry.
    private static func header(of answer: SecretBytes) throws(TokenKeepError) -> SecretBytes? {
        let json = answer.withUnsafeBytes { JSONValue(parsing: $0) }
        guard let token = try json?["token"]?.secret(), token.count > 0 else { return nil }
        let isPlain = token.withUnsafeBytes { bytes in bytes.allSatisfy { (0x21...0x7E).contains($0) } }
        return isPlain ? try SecretText.joined("Authorization: ", token) : nil
    }

    // MARK: Reading

    package func version() throws(RegistryFailure) -> String {
        let (status, json, message) = try sendToAny("/version", nil, EtcdRegistry.limit)
        guard status == 200, let version = json?["etcdserver"]?.text, version.utf8.count <= 32 else {
            throw failure(status, message)
        }
        return EtcdAnswers.printable(version.utf8)
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
                // Somebody wrote values that are longer than a device's: fewer of them fit into an answer.
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
        let answer = try post("/v3/kv/range", body)
        guard let page = EtcdPage(answer, prefix: prefix, from: start) else { throw EtcdRegistry.nonsense(current) }
        return page
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
        let answer = try post("/v3/kv/txn", body, limit: EtcdRegistry.changeLimit)
        guard EtcdWire.Header(answer) != nil else { throw EtcdRegistry.nonsense(current) }
        return answer["succeeded"]?.isTrue == true
    }

    package func grant(seconds: Int64) throws(RegistryFailure) -> Int64 {
        let answer = try post("/v3/lease/grant", #"{"TTL":"\#(seconds)"}"#)
        guard let id = answer["ID"]?.integer, id != 0 else { throw EtcdRegistry.nonsense(current) }
        return id
    }

    package func renew(lease: Int64) throws(RegistryFailure) {
        let answer = try post("/v3/lease/keepalive", #"{"ID":"\#(lease)"}"#)
        // The answer of a stream: its errors come with the status 200.
        if let error = answer["error"] {
            throw EtcdAnswers.failure(
                503, EtcdAnswers.printable((error["message"]?.text ?? "").utf8), from: current.origin, isAdmin: isAdmin)
        }
        guard let left = answer["result"]?["TTL"]?.integer, left > 0 else {
            throw EtcdAnswers.failure(404, "requested lease not found", from: current.origin, isAdmin: isAdmin)
        }
    }

    package func timeLeft(lease: Int64) throws(RegistryFailure) -> Int64? {
        let left = try post("/v3/lease/timetolive", #"{"ID":"\#(lease)"}"#)["TTL"]?.integer
        return left.flatMap { $0 > 0 ? $0 : nil }
    }

    package func watch(prefixes: [String], from revision: Int64) throws(RegistryFailure) -> any RegistryWatch {
        try authenticateIfNeeded()
        return try EtcdRegistry.needing { () throws(TokenKeepError) in
            try EtcdWatch(self, prefixes: prefixes, from: revision)
        }
    }
}
