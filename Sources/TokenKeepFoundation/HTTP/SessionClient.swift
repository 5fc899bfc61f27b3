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
/// The header Authorization is sent only to allowed origins, and not after a redirect to another origin. After a
/// response 401 the session renews its token, once for all requests, and each request is repeated once if its body can
/// be sent again.
///
/// After a network failure, a request is repeated up to three times, after 1, 2 and 4 seconds ± 20 %, if its method is
/// idempotent or it has an `Idempotency-Key`. After a response 429 or 503 with a `Retry-After` of at most 5 seconds,
/// such a request is repeated after this wait.
///
/// When the session ends, its requests are cancelled: at once if this program ends the session, within a second if
/// another program ends it.
///
/// Several tasks may use a client at the same time. The String in the header Authorization is not wiped. Cookies are
/// handled as the URLSession's configuration says.
public final class SessionClient: Sendable {
    /// The name of the header with the id of this user on this machine. It is sent with guests' requests to allowed
    /// origins.
    public static let deviceHeader = "X-Device-ID"

    /// The session whose token is sent.
    public let session: TokenSession
    let connection: HTTPConnection
    let requests: RunningRequests
    let broadcast: Broadcast<SessionEvent>
    let repeats: RepeatPolicy
    private let origins = Guarded<Set<HTTPOrigin>>([])
    let guest: GuestHeader

    /// Makes a client, which sends no token until `allow(origin:)` allows an origin.
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
        // The session's end hook below owns the requests, so a strong reference to the session would be a cycle.
        requests = RunningRequests { [weak session] in await (try? session?.state) == .signedOut }
        session.onEnd("requests", order: 10) { [requests] _, _ in requests.cancelAll() }
    }

    /// Allows an origin, so that requests to it are sent with the token.
    ///
    /// - Parameter origin: scheme, host and port, for example `https://api.example.com`. A path is ignored.
    /// - Throws: ``APIError/invalidURL`` if the origin is neither https nor this machine.
    public func allow(origin: URL) throws(APIError) {
        guard let origin = HTTPOrigin(origin), origin.isPrivate else { throw .invalidURL }
        origins.withLock { _ = $0.insert(origin) }
    }

    /// Allows an origin. See `allow(origin:)` with a URL.
    ///
    /// - Throws: ``APIError/invalidURL`` if the text is not an address, or if the origin is neither https nor this
    ///   machine.
    public func allow(origin: String) throws(APIError) {
        guard let url = URL(string: origin) else { throw .invalidURL }
        try allow(origin: url)
    }

    /// A stream of the requests' events from now on. If the reader is slow, only the latest 256 events are kept.
    public var events: AsyncStream<SessionEvent> { broadcast.stream() }

    /// Cancels all running requests. Each of them throws ``APIError/authenticationRequired``.
    ///
    /// The end of the session also cancels the requests.
    public func cancelAll() { requests.cancelAll() }

    func isAllowed(_ origin: HTTPOrigin) -> Bool { origins.withLock { $0.contains(origin) } }
}

/// Determines the value of the header `X-Device-ID`. Only requests of guests have this header.
final class GuestHeader: Sendable {
    private let session: TokenSession
    /// The last token, and the device's id if the token belongs to a guest.
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
