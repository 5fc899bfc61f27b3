import TokenKeepCore
import TokenKeepSession

/// A server with a family of refresh tokens for each sign-in, `rFAMILY-NUMBER`. It notes what no client may do.
final class ModelServer: Sendable {
    enum Mood: Equatable, Sendable {
        case answers, isAway, losesAnswer, isBusy
    }

    private struct Family {
        var number = 1
        var isRevoked = false
        var wasRevokedByClient = false
        /// Numbers of refresh tokens whose answer the client got.
        var answered: Set<Int> = []
        var hasLostAnswer = false
    }

    private struct State {
        var families: [Family] = []
        var mood = Mood.answers
        var violations: [String] = []
        var meanwhile: (@Sendable () -> Void)?
        var live: Int?
        var requests = 0
    }

    private let state = MutexGuarded(State())
    private let isStrict: Bool

    init(isStrict: Bool) { self.isStrict = isStrict }

    var violations: [String] { state.withLock { $0.violations } }
    var requests: Int { state.withLock { $0.requests } }

    func become(_ mood: Mood) { state.withLock { $0.mood = mood } }
    /// The family of the session that nobody may revoke.
    func protect(_ family: Int?) { state.withLock { $0.live = family } }
    /// Runs once, while the next refresh is answered.
    func meanwhile(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.meanwhile = body } }
    func isRevoked(_ family: Int) -> Bool { state.withLock { $0.families[family].isRevoked } }
    func wasRevokedByClient(_ family: Int) -> Bool { state.withLock { $0.families[family].wasRevokedByClient } }
    /// Whether the client may be unable to go on with a family, and says so.
    func mayBeLost(_ family: Int) -> Bool {
        state.withLock { $0.families[family].isRevoked || $0.families[family].hasLostAnswer }
    }

    /// From now on nothing on the client's machine knows which of the family's tokens were answered.
    func forgetAnswers(of family: Int) { state.withLock { $0.families[family].answered = [] } }

    /// Begins a family. Returns it and the token response.
    func signIn() -> (family: Int, response: String) {
        state.withLock { state in
            state.families.append(Family())
            return (state.families.count - 1, ModelServer.tokens(state.families.count - 1, 1))
        }
    }

    func transport(_ request: SessionRequest) throws(TokenKeepError) -> SessionResponse {
        if request.purpose == .refresh {
            let meanwhile = state.withLock { state in
                defer { state.meanwhile = nil }
                return state.meanwhile
            }
            meanwhile?()
        }
        let words = (request.token.utf8String ?? "").dropFirst().split(separator: "-").compactMap { Int($0) }
        guard words.count == 2 else { throw TokenKeepError(.io, "the model's server got a foreign token") }
        let answer = state.withLock { state in
            self.answer(request.purpose, words[0], words[1], &state)
        }
        let (status, body) = try answer.get()
        return SessionResponse(status: status, body: try SecretBytes(body))
    }

    private func answer(
        _ purpose: SessionRequest.Purpose, _ family: Int, _ number: Int, _ state: inout State
    ) -> Result<(Int, String), TokenKeepError> {
        switch state.mood {
        case .isAway: return .failure(TokenKeepError(.unavailable, "no route to the server"))
        case .isBusy:
            // Under strict a 503 counts as unknown: the token may have been used.
            if purpose == .refresh, isStrict { state.families[family].hasLostAnswer = true }
            return .success((503, ""))
        case .answers, .losesAnswer: break
        }
        if purpose == .revoke {
            if state.live == family { state.violations.append("the live session \(family) was revoked") }
            state.families[family].isRevoked = true
            state.families[family].wasRevokedByClient = true
            return .success((200, ""))
        }
        if purpose == .validate || purpose == .extend {
            if state.mood == .losesAnswer { return .failure(TokenKeepError(.timedOut, "the answer did not come")) }
            let isAccepted = !state.families[family].isRevoked
            return .success(
                (isAccepted ? 200 : 401, isAccepted && purpose == .extend ? #"{"expires_in":3600}"# : ""))
        }
        state.requests += 1
        if state.families[family].answered.contains(number) {
            state.violations.append("r\(family)-\(number) was sent again, though its answer was seen")
        }
        let isUsed = number < state.families[family].number
        if isUsed, isStrict { state.families[family].isRevoked = true }
        guard !state.families[family].isRevoked else { return .success((400, #"{"error":"invalid_grant"}"#)) }
        state.families[family].number += 1
        if state.mood == .losesAnswer {
            state.families[family].hasLostAnswer = true
            return .failure(TokenKeepError(.timedOut, "the answer did not come"))
        }
        state.families[family].answered.insert(number)
        return .success((200, ModelServer.tokens(family, state.families[family].number)))
    }

    private static func tokens(_ family: Int, _ number: Int) -> String {
        #"{"access_token":"a\#(family)-\#(number)","token_type":"Bearer","expires_in":3600,"#
            + #""refresh_token":"r\#(family)-\#(number)"}"#
    }
}
