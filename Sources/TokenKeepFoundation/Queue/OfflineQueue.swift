import Foundation
public import FoundationNetworking
public import TokenKeep

/// Stores requests of one account while the network is unavailable, and sends them later in order.
///
/// ```swift
/// let queue = OfflineQueue(client: client)
/// try await queue.add(request)
/// try await queue.send { request, outcome in
///     if case .refused(let body, let response) = outcome { … }
/// }
/// ```
///
/// Once ``add(_:lifetime:outlivesLogout:)`` returns, the request survives a kill and a loss of power. It is an item of
/// the vault, sealed at the queue's level. Headers are stored without the token, cookies and the guest's device id.
///
/// Every request has an `Idempotency-Key` and a lifetime, and is removed after its response. If the program ends
/// between response and removal, the request is sent again with the same key, and a server that supports keys executes
/// it once.
///
/// A queued request is stored only in guarded memory and in the vault. A request that is being sent is a `URLRequest`:
/// its headers are Strings, URLSession copies its body, and neither is wiped.
///
/// A queue has at most 1 000 requests and 64 MiB. Several processes and objects may use the queue of an account at the
/// same time; only one of them sends at a time. A logout empties the queue: at once if this program logs out, otherwise
/// at the queue's next call.
public final class OfflineQueue: Sendable {
    /// The client that sends the requests.
    public let client: SessionClient
    let storage: QueueStorage
    let running = Guarded<(id: String, task: Task<Answer, any Error>)?>(nil)
    private let level: TokenItem.Accessibility
    private let broadcast = Broadcast<Progress>()
    private let leftCount = Guarded(0)
    let clock: @Sendable () -> Date

    /// Makes a queue for the account of a client's session. Reads nothing.
    ///
    /// - Parameters:
    ///   - client: the client that sends the requests. Requests to its allowed origins are sent with the token.
    ///   - level: the accessibility level of the items that store the requests. `memoryOnly` is not allowed.
    public convenience init(client: SessionClient, level: TokenItem.Accessibility = .afterFirstUnlock) {
        self.init(client: client, level: level, onStep: {})
    }

    init(
        client: SessionClient, level: TokenItem.Accessibility = .afterFirstUnlock,
        clock: @escaping @Sendable () -> Date = { Date() }, onStep: @escaping @Sendable () -> Void
    ) {
        self.client = client
        self.level = level
        self.clock = clock
        storage = QueueStorage(level: level.rawValue, onStep: onStep)
        // The session owns this closure, so a strong reference to its engine would be a cycle.
        client.session.onEnd("queue", order: 20) { [storage, weak engine = client.session.engine] _, _ in
            guard let engine else { return }
            // Listing the entries also removes the requests of the session that has just ended.
            _ = try storage.entries(engine)
        }
    }

    /// Adds a request at the end of the queue. When the call returns, the request survives a kill and a loss of power.
    ///
    /// - Parameters:
    ///   - request: the request, with its body as data. If it has no `Idempotency-Key`, it gets a random key.
    ///   - lifetime: the time after which the request leaves the queue unsent, 1 second to 31 days. Servers forget
    ///     idempotency keys, many after a day, and may then execute a repeated request twice.
    ///   - outlivesLogout: whether the request stays in the queue after a logout, for the next sign-in of the same
    ///     account.
    /// - Returns: the queued request.
    /// - Throws: ``LimitError`` if the queue is full or the lifetime is out of range;
    ///   ``APIError/authenticationRequired`` if nobody is signed in; ``APIError/invalidURL`` if the address is not http
    ///   or https; `TokenKeepError` with `invalid` if the body is a stream, `locked` if the vault is locked, or another
    ///   status; `CancellationError` if the task is cancelled, although the request may have been added.
    @discardableResult
    public func add(
        _ request: URLRequest, lifetime: Duration = .seconds(86_400), outlivesLogout: Bool = false
    ) async throws -> Request {
        let (seconds, now) = (lifetime.components.seconds, Int64(clock().timeIntervalSince1970))
        guard (1...31 * 86_400).contains(seconds) else { throw LimitError.lifetime }
        guard let url = request.url, HTTPOrigin(url) != nil else { throw APIError.invalidURL }
        guard request.httpBodyStream == nil, level != .memoryOnly else {
            throw TokenKeepError(.invalid, "a queue keeps no body that is a stream, and nothing in memory alone")
        }
        guard request.httpBody?.count ?? 0 <= QueueLimits.bytes else { throw LimitError.tooManyBytes }
        // Reading the state creates the note of a session that was stored without TokenKeep. The queue needs this note.
        guard try await client.session.state != .signedOut else { throw APIError.authenticationRequired }
        let stored = StoredRequest(request, url, added: now, end: now + seconds)
        let items = try stored.items(request)
        let addition = QueueStorage.Addition(
            head: items.head, parts: items.parts, end: stored.end, outlivesLogout: outlivesLogout)
        let added = try await client.session.perform { [storage] engine throws(CoreError) in
            (result: try storage.add(addition, engine), entries: try storage.entries(engine))
        }
        switch added.result {
        case .entry(let entry):
            report(added.entries)
            return Request(entry, stored)
        case .tooMany: throw LimitError.tooManyRequests
        case .tooLong: throw LimitError.tooManyBytes
        case .signedOut: throw APIError.authenticationRequired
        }
    }

    /// The queued requests, in the order in which they will be sent.
    ///
    /// - Throws: `TokenKeepError` with `locked` if the vault is locked, `corrupt` if a request cannot be read, or
    ///   another status.
    public var requests: [Request] {
        get async throws {
            var requests: [Request] = []
            for entry in try await entries() {
                guard let queued = try await queued(entry) else { continue }
                requests.append(Request(entry, queued.stored))
            }
            return requests
        }
    }

    /// Removes a request. If this object is sending the request, the attempt is cancelled, but the server may have
    /// received the request.
    ///
    /// - Returns: whether the request was in the queue.
    /// - Throws: `TokenKeepError` with `locked`, `busy` or another status. The request is then still in the queue.
    @discardableResult public func cancel(_ id: String) async throws -> Bool {
        try await remove { $0.id == id } > 0
    }

    /// Removes all requests. If this object is sending a request, the attempt is cancelled, but the server may have
    /// received the request.
    ///
    /// - Returns: the number of removed requests.
    /// - Throws: `TokenKeepError` with `locked`, `busy` or another status. Requests may then still be in the queue.
    @discardableResult public func cancelAll() async throws -> Int { try await remove { _ in true } }

    /// A stream with the queue's progress after each change by this object from now on. If the reader is slow, only the
    /// latest 256 elements are kept.
    public var progress: AsyncStream<Progress> { broadcast.stream() }

    private func remove(_ isMeant: @escaping @Sendable (QueueEntry) -> Bool) async throws -> Int {
        let (count, entries) = try await client.session.perform { [storage] engine throws(CoreError) in
            try storage.remove(engine, where: isMeant)
        }
        let cancelled = running.withLock { running in
            running.flatMap { running in entries.contains { $0.id == running.id } ? nil : running.task }
        }
        cancelled?.cancel()
        if count > 0 { report(entries) }
        return count
    }

    func entries() async throws -> [QueueEntry] {
        try await client.session.perform { [storage] engine throws(CoreError) in try storage.entries(engine) }
    }

    /// Reads an entry's request with its headers and body; nil if the request has left the queue.
    func queued(_ entry: QueueEntry) async throws -> QueuedRequest? {
        let items = try await client.session.perform { [storage] engine throws(CoreError) in
            try storage.content(of: entry, engine)
        }
        return try items.map { try QueuedRequest($0, id: entry.id) }
    }

    func report(_ entries: [QueueEntry], left: Int = 0) {
        let total = leftCount.withLock { count in
            count += left
            return count
        }
        broadcast.send(
            Progress(waiting: entries.count, byteCount: entries.reduce(0) { $0 + $1.bytes }, left: total))
    }
}
