import TokenKeepCore
import TokenKeepSession

/// A server that rotates refresh tokens and revokes the family if a used one comes again, as RFC 9700 section 4.14.2
/// asks for.
final class TokenServer: Sendable {
    /// What the server does with the next request.
    enum Mood: Sendable {
        case answers
        /// The request does not arrive.
        case isAway
        /// The request is carried out, and the answer is lost.
        case losesAnswer
        /// Answers with a status, headers and a body, and does nothing.
        case says(Int, [String: String], String)
    }

    private struct State {
        var mood = Mood.answers
        var moods: [Mood] = []
        var number = 1
        var isRevoked = false
        var used: Set<String> = []
        var requests: [String] = []
        var revoked: [String] = []
        var validated: [String] = []
        var extended: [UInt32] = []
        var extensionAnswer = ""
        var targets: [TokenTarget] = []
        var lifetime = 3600
        var headers: [(name: String, value: String)] = []
        var duringRequest: (@Sendable () -> Void)?
    }

    private let state = MutexGuarded(State())

    /// The answer to a sign-in.
    var signIn: String { state.withLock { TokenServer.tokens($0.number, $0.lifetime) } }
    /// The refresh requests that arrived.
    var requests: [String] { state.withLock { $0.requests } }
    var revoked: [String] { state.withLock { $0.revoked } }
    /// The access tokens that were to be validated.
    var validated: [String] { state.withLock { $0.validated } }
    /// The seconds by which sessions were to be extended.
    var extended: [UInt32] { state.withLock { $0.extended } }
    /// The targets of refresh requests that had one.
    var targets: [TokenTarget] { state.withLock { $0.targets } }
    var isRevoked: Bool { state.withLock { $0.isRevoked } }

    func become(_ mood: Mood) { state.withLock { $0.mood = mood } }
    /// Applies the moods to one request each, before the lasting one.
    func next(_ moods: Mood...) { state.withLock { $0.moods = moods } }
    func set(extensionAnswer: String) { state.withLock { $0.extensionAnswer = extensionAnswer } }
    func set(lifetime: Int) { state.withLock { $0.lifetime = lifetime } }
    /// Runs `body` once, before the next answer. It is not kept: it may hold whoever holds the server.
    func whileAnswering(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.duringRequest = body } }

    var transport: SessionTransport {
        { request throws(TokenKeepError) in try self.answer(request) }
    }

    private func answer(_ request: SessionRequest) throws(TokenKeepError) -> SessionResponse {
        let meanwhile = state.withLock { state in
            defer { state.duringRequest = nil }
            return state.duringRequest
        }
        meanwhile?()
        let token = request.token.utf8String ?? ""
        let answer: Result<(Int, [String: String], String), TokenKeepError> = state.withLock { state in
            let mood = state.moods.isEmpty ? state.mood : state.moods.removeFirst()
            if case .isAway = mood { return .failure(TokenKeepError(.unavailable, "no route to the server")) }
            if request.purpose == .revoke {
                if case .says(let status, let headers, let body) = mood { return .success((status, headers, body)) }
                state.revoked.append(token)
                return .success((200, [:], ""))
            }
            if request.purpose == .validate { return .success(TokenServer.validate(token, mood, &state)) }
            if request.purpose == .extend { return .success(TokenServer.extend(token, request, mood, &state)) }
            state.requests.append(token)
            if let target = request.target { state.targets.append(target) }
            if case .says(let status, let headers, let body) = mood { return .success((status, headers, body)) }
            guard token == "refresh-\(state.number)", !state.isRevoked else {
                if state.used.contains(token) { state.isRevoked = true }
                return .success((400, [:], #"{"error":"invalid_grant"}"#))
            }
            state.used.insert(token)
            state.number += 1
            if case .losesAnswer = mood { return .failure(TokenKeepError(.timedOut, "the answer did not come")) }
            return .success((200, [:], TokenServer.tokens(state.number, state.lifetime, request.target)))
        }
        let (status, headers, body) = try answer.get()
        return SessionResponse(
            status: status, headers: headers.map { ($0.key, $0.value) }, body: try SecretBytes(body))
    }

    private static func validate(
        _ token: String, _ mood: Mood, _ state: inout State
    ) -> (Int, [String: String], String) {
        state.validated.append(token)
        if case .says(let status, let headers, let body) = mood { return (status, headers, body) }
        return (token == "access-\(state.number)" && !state.isRevoked ? 204 : 401, [:], "")
    }

    private static func extend(
        _ token: String, _ request: SessionRequest, _ mood: Mood, _ state: inout State
    ) -> (Int, [String: String], String) {
        state.extended.append(request.seconds ?? 0)
        if case .says(let status, let headers, let body) = mood { return (status, headers, body) }
        return token == "access-\(state.number)" ? (200, [:], state.extensionAnswer) : (401, [:], "")
    }

    private static func tokens(_ number: Int, _ lifetime: Int, _ target: TokenTarget? = nil) -> String {
        #"{"access_token":"access-\#(number)\#(target?.resource ?? "")","token_type":"Bearer","#
            + #""expires_in":\#(lifetime),"refresh_token":"refresh-\#(number)","#
            + #""scope":"\#(target?.scope ?? "read")","plan":"gold"}"#
    }
}
