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
/// again.
///
/// After a failure of the network, a request is repeated up to three times, after 1, 2 and 4 seconds ± 20 %, if its method
/// is idempotent or it has an `Idempotency-Key`. A response 429 or 503 with a `Retry-After` of up to 5 seconds counts as
/// such a failure.
///
/// The end of the session cancels its requests: at once if this program ends the session, within a second if another
/// program does.
///
/// Several tasks may use a client at the same time. The String of the header Authorization is not wiped. Cookies are those
/// of the configuration.
public final class SessionClient: Sendable {
    /// The header with the id of this user on this machine. The client adds it to guests' requests to allowed origins.
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
    ///   - urlSession: the session whose configuration and cookies are used. Its delegate is not used.
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
        // A strong reference would be a cycle: the session keeps the requests.
        requests = RunningRequests { [weak session] in await (try? session?.state) == .signedOut }
        session.onEnd("requests", order: 10) { [requests] _, _ in requests.cancelAll() }
    }

    /// Allows an origin: requests to the origin have the token.
    ///
    /// - Parameter origin: scheme, host and port, as `https://api.example.com`. A path is ignored.
    /// - Throws: ``APIError/invalidURL`` if the origin is neither https nor this machine.
    public func allow(origin: URL) throws(APIError) {
        guard let origin = HTTPOrigin(origin), origin.isPrivate else { throw .invalidURL }
        origins.withLock { _ = $0.insert(origin) }
    }

    /// Allows an origin. See `allow(origin:)` with a URL.
    ///
    /// - Throws: ``APIError/invalidURL`` if the text is no address, or the origin is neither https nor this machine.
    public func allow(origin: String) throws(APIError) {
        guard let url = URL(string: origin) else { throw .invalidURL }
        try allow(origin: url)
    }

    /// The events of the requests from now on. A slow reader gets the newest 256.
    public var events: AsyncStream<SessionEvent> { broadcast.stream() }

    /// Cancels all running requests; each throws ``APIError/authenticationRequired``.
    ///
    /// The end of the session cancels them, too.
    public func cancelAll() { requests.cancelAll() }

    func isAllowed(_ origin: HTTPOrigin) -> Bool { origins.withLock { $0.contains(origin) } }
}

/// Provides the value of the header `X-Device-ID`, for the requests of guests only.
final class GuestHeader: Sendable {
    private let session: TokenSession
    /// The last token; and the device's id, if the token is a guest's.
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
