import TestSupport
import TokenKeepCore

@testable import TokenKeepKeys

/// A TPM in the place of the one behind root's helper, which counts the requests for each operation.
final class FakeTPM: Sendable {
    private struct State {
        var name = [0x00, 0x0b] + [UInt8](repeating: 7, count: 32)
        var sealed: [(authValue: [UInt8], secret: [UInt8])] = []
        var requests: [[UInt8]] = []
        /// The reply to each request; nil for that of a TPM.
        var reply: FakeHelper.Reply?
    }

    private let state = MutexGuarded(State())
    private let helper: FakeHelper

    init() throws {
        let state = state
        helper = try FakeHelper { request in state.withLock { FakeTPM.reply(to: request, &$0) } }
    }

    var places: TPMPlaces { TPMPlaces(socket: helper.path) }
    /// The requests that have arrived.
    var requests: [[UInt8]] { state.withLock { $0.requests } }

    /// Replies to each request with these bytes, whatever it asks; nil for the reply of a TPM.
    func reply(_ reply: FakeHelper.Reply?) { state.withLock { $0.reply = reply } }

    /// A TPM of a vector: each blob has this authValue and this secret.
    func put(name: [UInt8], authValue: [UInt8], secret: [UInt8]) {
        state.withLock {
            $0.name = name
            $0.sealed = [(authValue, secret)]
        }
    }

    func rename(_ name: [UInt8]) { state.withLock { $0.name = name } }

    /// A reply of a status and a reason.
    static func reply(status: UInt8 = 0, reason: UInt8 = 0, _ payload: [UInt8] = []) -> FakeHelper.Reply {
        .bytes(Array("TKT1".utf8) + [0, 0, 0, status, reason, 0, 0, 0, 0] + payload)
    }

    private static func reply(to request: [UInt8], _ state: inout State) -> FakeHelper.Reply {
        state.requests.append(request)
        if let reply = state.reply { return reply }
        guard request.starts(with: "TKT1".utf8), request.count >= 7 else { return reply(status: 12, reason: 13) }
        let (operation, fields) = (request[4], Array(request[7...]))
        let name = Array(fields.prefix(34))
        guard name == state.name || operation == 1 && name.isEmpty else { return reply(status: 3, reason: 5) }
        switch (operation, fields.count) {
        case (1, 0), (1, 34): return reply([1] + state.name + Array("FAKE".utf8))
        case (2, 98):
            state.sealed.append((Array(fields[34..<66]), Array(fields[66...])))
            return reply([UInt8(state.sealed.count)])
        case (3, 67...):
            let number = min(Int(fields[66]), state.sealed.count) - 1
            guard number >= 0 else { return reply(status: 11, reason: 8) }
            guard state.sealed[number].authValue == Array(fields[34..<66]) else { return reply(status: 6, reason: 6) }
            return reply(state.sealed[number].secret)
        default: return reply(status: 12, reason: 13)
        }
    }
}
