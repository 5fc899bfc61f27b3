public import Foundation
public import FoundationNetworking
public import TokenKeep

/// Sends requests with the token of one session.
///
/// ```swift
/// let client = SessionClient(session: session)
/// try client.allow(origin: "https://api.example.com")
/// let user: User = try await client.request(URLRequest(url: url))
/// ```
///
/// The header Authorization goes to allowed origins alone, and never across a redirect to another origin. A response 401
/// makes the session renew its token, once for all requests; each request is repeated once if its body can be sent
/// again. Failures of the network are repeated up to three times, after 1, 2 and 4 seconds ± 20 %, if the method is
/// idempotent or the request has an `Idempotency-Key`; a response 429 or 503 with a `Retry-After` of up to 5 seconds
/// counts as such a failure. The end of the session cancels its requests: by this program at once, by another one within
/// a second.
///
/// Any task may use a client, several at once. The header's String is not wiped. Cookies are those of the configuration.
public final class SessionClient: Sendable {
    /// The header with the id of this user on this machine. Guests' requests to allowed origins have it.
    public static let deviceHeader = "X-Device-ID"

    /// The session whose token is sent.
    public let session: TokenSession
    let connection: HTTPConnection
    let requests: RunningRequests
    let broadcast: Broadcast<SessionEvent>
    let repeats: RepeatPolicy
    private let origins = Guarded<Set<HTTPOrigin>>([])
    let guest: GuestHeader

    /// Makes a client, which sends the token to no origin until `allow(origin:)` names it.
    ///
    /// - Parameters:
    ///   - session: the session whose token is sent.
    ///   - urlSession: the session whose configuration is used, with its cookies; its delegate is not.
    public convenience init(session: TokenSession, urlSession: URLSession = .shared) {
        self.init(session: session, urlSession.configuration, Broadcast())
    }

    init(
        session: TokenSession, _ configuration: URLSessionConfiguration, _ broadcast: Broadcast<SessionEvent>,
        repeats: RepeatPolicy = RepeatPolicy()
    ) {
        self.session = session
        self.broadcast = broadcast
        self.repeats = repeats
        connection = HTTPConnection(configuration)
        guest = GuestHeader(session)
        // Weak, because the session keeps the requests.
        requests = RunningRequests { [weak session] in await (try? session?.state) == .signedOut }
        session.onEnd("requests", order: 10) { [requests] _, _ in requests.cancelAll() }
    }

    /// Lets requests to an origin have the token.
    ///
    /// - Parameter origin: scheme, host and port, as `https://api.example.com`. A path is ignored.
    /// - Throws: ``APIError/invalidURL`` if the origin is neither https nor this machine.
    public func allow(origin: URL) throws(APIError) {
        guard let origin = HTTPOrigin(origin), origin.isPrivate else { throw .invalidURL }
        origins.withLock { _ = $0.insert(origin) }
    }

    /// Lets requests to an origin have the token. See `allow(origin:)` with a URL.
    public func allow(origin: String) throws(APIError) {
        guard let url = URL(string: origin) else { throw .invalidURL }
        try allow(origin: url)
    }

    /// The events of the requests from now on. A reader that is slow gets the newest 256.
    public var events: AsyncStream<SessionEvent> { broadcast.stream() }

    /// Cancels the requests that are under way; each throws ``APIError/authenticationRequired``.
    ///
    /// The end of the session does so, too.
    public func cancelAll() { requests.cancelAll() }

    func isAllowed(_ origin: HTTPOrigin) -> Bool { origins.withLock { $0.contains(origin) } }
}

/// The id of the device, for the requests of guests alone.
final class GuestHeader: Sendable {
    private let session: TokenSession
    /// The last token, and the id if it is a guest's.
    private let last = Guarded<(token: TokenStore.Secret, id: String?)?>(nil)

    init(_ session: TokenSession) { self.session = session }

    func deviceID(for token: TokenSession.Token) async throws -> String? {
        if let last = last.withLock({ $0 }), last.token == token.value { return last.id }
        let isGuest = try await session.state == .guest
        let id = isGuest ? try await TokenSessions(store: session.store).deviceID() : nil
        last.withLock { $0 = (token.value, id) }
        return id
    }
}
