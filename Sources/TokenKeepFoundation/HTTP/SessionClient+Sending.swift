import Foundation
import FoundationNetworking
import TokenKeep

extension SessionClient {
    /// Sends a request, with repeats, and reads the response.
    ///
    /// - Parameters:
    ///   - file: a file that is the body.
    ///   - isWhole: whether `read` gets the response when the whole body has arrived.
    ///   - check: runs before each attempt, when its token is known. If it throws, the request is not sent again.
    ///   - read: reads the response; its failure by the network counts as the request's.
    func send<Value: Sendable>(
        _ request: URLRequest, file: URL? = nil, isWhole: Bool = false,
        before check: @escaping @Sendable () async throws -> Void = {},
        _ read: @escaping @Sendable (HTTPExchange) async throws -> Value
    ) async throws -> Value {
        guard HTTPOrigin(request.url) != nil else { throw APIError.invalidURL }
        return try await requests.run { [self] in
            let mayRepeat = RepeatPolicy.allows(request)
            var attempt = 0
            while true {
                let canRepeat = mayRepeat && attempt < RepeatPolicy.limit
                do {
                    let exchange = try await followed(request, file) { [connection] request, file in
                        try await check()
                        return try await connection.send(request, file: file, isWhole: isWhole)
                    }
                    guard canRepeat, let wait = RepeatPolicy.wait(for: exchange.response) else {
                        report(exchange.response)
                        return try await read(exchange)
                    }
                    exchange.discard()
                    try await repeats.pause(wait)
                } catch {
                    guard canRepeat, RepeatPolicy.isOfNetwork(error) else { throw error }
                    try await repeats.pause(RepeatPolicy.wait(before: attempt))
                }
                attempt += 1
            }
        }
    }

    /// Sends one request over the network.
    private typealias Attempt = @Sendable (_ request: URLRequest, _ file: URL?) async throws -> HTTPExchange

    /// Sends a request and follows redirects.
    private func followed(_ request: URLRequest, _ file: URL?, _ attempt: Attempt) async throws -> HTTPExchange {
        var (request, file) = (request, file)
        // A redirect to another origin and back gets no token either.
        var hasLeft = false
        for _ in 0...Redirect.limit {
            let isAuthorized = !hasLeft && isAllowed(request.url)
            let exchange =
                try await isAuthorized
                ? authorized(request, file, attempt) : attempt(request, file)
            guard let next = Redirect.next(after: exchange.response, to: request) else { return exchange }
            exchange.discard()
            if HTTPOrigin(next.url) != HTTPOrigin(request.url) { hasLeft = true }
            if next.httpMethod != request.httpMethod { file = nil }
            request = next
        }
        throw URLError(.httpTooManyRedirects)
    }

    /// Sends a request with the token, and once more if the server refuses the token.
    private func authorized(_ request: URLRequest, _ file: URL?, _ attempt: Attempt) async throws -> HTTPExchange {
        var request = request
        let token = try await tokens { try await session.token() }
        try await authorize(&request, token)
        let exchange = try await attempt(request, file)
        guard exchange.response.statusCode == 401 else { return exchange }
        guard RepeatPolicy.canBeSentAgain(request) else {
            // The next request has a new token.
            _ = try? await session.rejected(token)
            return exchange
        }
        exchange.discard()
        try await authorize(&request, tokens { try await session.rejected(token) })
        let second = try await attempt(request, file)
        if second.response.statusCode == 401 { broadcast.send(.authenticationRequired) }
        return second
    }

    /// Asks the session for a token. Its end is an event, and an error of requests.
    private func tokens(_ body: () async throws -> TokenSession.Token) async throws -> TokenSession.Token {
        do {
            return try await body()
        } catch TokenKeepError.Status.notFound {
            broadcast.send(.authenticationRequired)
            throw APIError.authenticationRequired
        } catch let error as TokenKeepError where [.needsLogin, .expired].contains(error.status) {
            broadcast.send(.sessionExpired)
            throw APIError.unauthorized
        }
    }

    private func report(_ response: HTTPURLResponse) {
        guard response.statusCode == 429 else { return }
        broadcast.send(.rateLimitExceeded(RateLimit(response, now: Date())))
    }
}
