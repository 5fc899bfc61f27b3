public import Foundation
public import FoundationNetworking
public import TokenKeep

/// The addresses of an authorization server, and a transport that sends a session's requests to them by URLSession.
///
/// ```swift
/// var options = TokenSession.Options()
/// options.clientID = "my-app"
/// options.transport = TokenEndpoints(token: tokenURL, revocation: revocationURL).transport()
/// ```
public struct TokenEndpoints: Sendable {
    /// The token endpoint (RFC 6749 section 3.2). If the session's options have a `refreshURL`, it is used instead.
    public var token: URL
    /// The revocation endpoint (RFC 7009); nil if the server has none. Tokens to be revoked after a logout then stay
    /// queued until they are removed after 30 days.
    public var revocation: URL?
    /// The address at which an access token can be validated; nil if the server has none.
    public var validation: URL?
    /// The address at which a session can be extended; nil if the server has none.
    public var sessionExtension: URL?

    /// The maximum length of an answer, in bytes.
    private static let longestAnswer = 262_144

    /// Makes the endpoints. Each address must be https, or http on this machine.
    public init(token: URL, revocation: URL? = nil, validation: URL? = nil, sessionExtension: URL? = nil) {
        self.token = token
        self.revocation = revocation
        self.validation = validation
        self.sessionExtension = sessionExtension
    }

    /// Makes a transport for the options of a session.
    ///
    /// - Each request has its own connection. On a persistent connection that the server has closed, libcurl would
    ///   repeat the request, but a refresh token must be sent only once.
    /// - Redirects are not followed. Cookies are neither sent nor kept.
    /// - An unknown host name, a refused connection and a TLS failure are reported as `unavailable`, because nothing
    ///   was sent.
    /// - The session cancels a request that has no answer after 30 seconds.
    ///
    /// The body of a request and the answer are in guarded memory. The bytes that URLSession copies, and the String of
    /// the header Authorization, are not wiped.
    ///
    /// - Parameter urlSession: the URLSession whose configuration is used, without its cookies and cache.
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

    /// Converts a session's request to a URLRequest. The body is not copied out of guarded memory.
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
        // The joined chunks are copied directly into guarded memory, so URLSession's bytes are the only other copy.
        let body = try TokenStore.Secret(bytes: chunks.joined())
        return TokenSession.Response(status: exchange.response.statusCode, headers: headers, body: body)
    }

    /// Whether an error means that no part of the request was sent.
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
