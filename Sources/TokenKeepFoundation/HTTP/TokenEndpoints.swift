public import Foundation
public import FoundationNetworking
public import TokenKeep

/// The addresses of an authorization server, and a transport that sends a session's requests there over URLSession.
///
/// ```swift
/// var options = TokenSession.Options()
/// options.clientID = "my-app"
/// options.transport = TokenEndpoints(token: tokenURL, revocation: revocationURL).transport()
/// ```
public struct TokenEndpoints: Sendable {
    /// The token endpoint (RFC 6749 section 3.2). The options' `refreshURL`, if set, takes its place.
    public var token: URL
    /// The revocation endpoint (RFC 7009); nil if the server has none. Without it, tokens of logouts wait for 30 days.
    public var revocation: URL?
    /// The address that tells whether an access token is accepted; nil if the server has none.
    public var validation: URL?
    /// The address that lets a session last longer; nil if the server has none.
    public var sessionExtension: URL?

    /// The longest answer, in bytes.
    private static let longestAnswer = 262_144

    /// Makes the endpoints. Each address must be https, or http on this machine.
    public init(token: URL, revocation: URL? = nil, validation: URL? = nil, sessionExtension: URL? = nil) {
        self.token = token
        self.revocation = revocation
        self.validation = validation
        self.sessionExtension = sessionExtension
    }

    /// A transport for the options of a session.
    ///
    /// - Each request has a connection of its own. On a kept connection that the server has closed, libcurl would repeat
    ///   the request by itself, and a refresh token must be sent once.
    /// - Redirects are not followed. Cookies are neither sent nor kept.
    /// - An unknown host name, a refused connection and a failure of TLS are `unavailable`: nothing was sent.
    /// - The session cancels a request without an answer after 30 seconds.
    ///
    /// The body of a request and the answer are in guarded memory. The bytes that URLSession copies, and the String of
    /// the header Authorization, are not wiped.
    ///
    /// - Parameter urlSession: the session whose configuration is used.
    public func transport(_ urlSession: URLSession = .shared) -> TokenSession.Transport {
        let configuration = urlSession.configuration
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        return { request in
            let connection = HTTPConnection(configuration)
            do {
                let exchange = try await connection.send(urlRequest(request))
                return try await Self.response(exchange)
            } catch let error as URLError where Self.isBeforeSending(error) {
                throw TokenKeepError(.unavailable, "the server cannot be reached: \(error.localizedDescription)")
            }
        }
    }

    /// The URLRequest of a session's request. The body is guarded memory.
    func urlRequest(_ request: TokenSession.Request) throws(TokenKeepError) -> URLRequest {
        let address =
            switch request.purpose {
            case .refresh: request.url.map { URL(string: $0) } ?? token
            case .revoke: revocation
            case .validate: validation
            case .extend: sessionExtension
            }
        guard let address, let origin = HTTPOrigin(address), origin.isPrivate else {
            throw TokenKeepError(.unavailable, "there is no https address to \(request.purpose) tokens")
        }
        var made = URLRequest(url: address)
        made.setValue("application/json", forHTTPHeaderField: "Accept")
        if request.purpose == .validate || request.purpose == .extend {
            made.setValue(request.token.bearer, forHTTPHeaderField: "Authorization")
        }
        if request.purpose != .validate {
            made.httpMethod = "POST"
            made.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            made.httpBody = request.body.data
        }
        return made
    }

    private static func response(_ exchange: HTTPExchange) async throws -> TokenSession.Response {
        var (chunks, length): ([Data], Int) = ([], 0)
        for try await chunk in exchange.chunks {
            length += chunk.count
            guard length <= longestAnswer else {
                exchange.discard()
                throw URLError(.dataLengthExceedsMaximum)
            }
            chunks.append(chunk)
        }
        try Task.checkCancellation()
        var headers: [String: String] = [:]
        for name in ["Date", "Retry-After"] { headers[name] = exchange.response.value(forHTTPHeaderField: name) }
        // This is the only copy besides URLSession's.
        let body = try TokenStore.Secret(bytes: chunks.joined())
        return TokenSession.Response(status: exchange.response.statusCode, headers: headers, body: body)
    }

    /// Whether an error happened before anything of the request was sent.
    private static func isBeforeSending(_ error: URLError) -> Bool {
        switch error.code {
        case .cannotFindHost, .dnsLookupFailed, .cannotConnectToHost, .notConnectedToInternet, .secureConnectionFailed,
            .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid:
            return true
        default: return false
        }
    }
}
