import Foundation
import FoundationNetworking
import TokenKeep

extension SessionClient {
    /// Sends a request, repeats it after network failures, and reads the response.
    ///
    /// - Parameters:
    ///   - file: the file whose content is the body; nil for the request's own body.
    ///   - isWhole: whether `read` is called only after the whole body has arrived.
    ///   - check: called before each attempt, after the token was obtained. If `check` throws, the request is not sent.
    ///   - read: reads the response. A network failure during the read counts as a failure of the request.
    func send<Value: Sendable>(
        _ request: URLRequest, file: URL? = nil, isWhole: Bool = false,
        before check: (@Sendable () async throws -> Void)? = nil,
        _ read: @escaping @Sendable (HTTPExchange) async throws -> Value
    ) async throws -> Value {
        guard let origin = HTTPOrigin(request.url) else { throw APIError.invalidURL }
        return try await requests.run { running in
            let mayRepeat = RepeatPolicy.allows(request)
            var attempt = 0
            while true {
                let canRepeat = mayRepeat && attempt < RepeatPolicy.limit
                let pause: Duration
                do {
                    let exchange = try await followed(request, to: origin, file, running) { request, file in
                        if let check { try await running.wait(for: check) }
                        return try await connection.send(request, file: file, isWhole: isWhole, for: running)
                    }
                    guard canRepeat, let wait = RepeatPolicy.wait(for: exchange.response) else {
                        report(exchange.response)
                        return try await running.wait { try await read(exchange) }
                    }
                    exchange.discard()
                    pause = wait
                } catch {
                    guard canRepeat, RepeatPolicy.isOfNetwork(error) else { throw error }
                    pause = RepeatPolicy.wait(before: attempt)
                }
                try await running.wait { [repeats] in try await repeats.pause(pause) }
                attempt += 1
            }
        }
    }

    /// A function that sends one request over the network, without repeating it and without following redirects.
    private typealias Attempt = (_ request: URLRequest, _ file: URL?) async throws -> HTTPExchange

    /// Sends a request and follows redirects.
    private func followed(
        _ request: URLRequest, to origin: HTTPOrigin, _ file: URL?, _ running: RunningRequest, _ attempt: Attempt
    ) async throws -> HTTPExchange {
        var (request, origin, file) = (request, origin, file)
        // After a redirect to another origin, no later request of the chain gets the token, even if it returns to an
        // allowed origin.
        var hasLeft = false
        for _ in 0...Redirect.limit {
            let isAuthorized = !hasLeft && isAllowed(origin)
            var exchange =
                try await isAuthorized
                ? authorized(request, file, running, attempt) : attempt(request, file)
            exchange.hadToken = isAuthorized
            guard let next = Redirect.next(after: exchange.response, to: request, at: origin) else { return exchange }
            exchange.discard()
            if next.origin != origin { hasLeft = true }
            if next.request.httpMethod != request.httpMethod { file = nil }
            (request, origin) = next
        }
        throw URLError(.httpTooManyRedirects)
    }

    /// Sends a request with the token. If the server refuses the token, sends the request once more with a renewed
    /// token.
    private func authorized(
        _ request: URLRequest, _ file: URL?, _ running: RunningRequest, _ attempt: Attempt
    ) async throws -> HTTPExchange {
        var request = request
        let first = try await running.wait { [self] in try await authorization { try await session.token() } }
        first.add(to: &request)
        let exchange = try await attempt(request, file)
        guard exchange.response.statusCode == 401 else { return exchange }
        let renewed: @Sendable () async throws -> Authorization = { [self] in
            try await authorization { try await session.rejected(first.token) }
        }
        guard RepeatPolicy.canBeSentAgain(request) else {
            // This request cannot be repeated. The token is renewed nevertheless, so that the next request has a valid
            // token.
            _ = try? await running.wait(for: renewed)
            return exchange
        }
        exchange.discard()
        try await running.wait(for: renewed).add(to: &request)
        let second = try await attempt(request, file)
        if second.response.statusCode == 401 { broadcast.send(.authenticationRequired) }
        return second
    }

    /// The values of the headers that the client adds: the token and, for a guest, the device's id.
    private struct Authorization: Sendable {
        let token: TokenSession.Token
        let device: String?

        func add(to request: inout URLRequest) {
            request.setValue(token.value.bearer, forHTTPHeaderField: "Authorization")
            request.setValue(device, forHTTPHeaderField: SessionClient.deviceHeader)
        }
    }

    private func authorization(_ body: () async throws -> TokenSession.Token) async throws -> Authorization {
        let token = try await tokens(body)
        return Authorization(token: token, device: try await guest.deviceID(for: token))
    }

    /// Returns the token that `body` obtains. If the session has ended, sends an event and throws an ``APIError``.
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
