import Foundation
import FoundationNetworking

@testable import TokenKeepFoundation

/// A server that does a request once for each `Idempotency-Key`, and notes the bodies in the order in which it did them.
final class KeyServer: Sendable {
    private struct State {
        var keys: Set<String> = []
        var done: [String] = []
        var losses = 0
        var status = 200
    }

    private let state: Guarded<State>
    let loopback: LoopbackServer

    init() throws {
        let state = Guarded(State())
        self.state = state
        loopback = try LoopbackServer { request in
            state.withLock { state in
                guard state.status == 200 else { return .init(status: state.status, body: "no") }
                let key = request.headers["idempotency-key"] ?? "none"
                if state.keys.insert(key).inserted { state.done.append(request.body) }
                guard state.losses == 0 else {
                    state.losses -= 1
                    return .lost
                }
                return .init()
            }
        }
    }

    /// The bodies of the requests that were done.
    var done: [String] { state.withLock { $0.done } }

    /// Does the next requests and loses their answers.
    func loseAnswers(_ count: Int) { state.withLock { $0.losses = count } }

    /// Answers every request with a status; 200 does it.
    func answer(_ status: Int) { state.withLock { $0.status = status } }

    func request(_ body: String) throws -> URLRequest {
        var request = try loopback.request("/orders", method: "POST")
        request.httpBody = Data(body.utf8)
        return request
    }
}
