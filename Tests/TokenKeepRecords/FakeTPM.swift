import TestSupport
import TokenKeepCore

@testable import TokenKeepKeys

/// A TPM in the place of the one behind root's helper, which counts the requests for each operation.
final class FakeTPM: Sendable {
    private struct State {
        var name = [0x00, 0x0b] + [UInt8](repeating: 7, count: 32)
        var sealed: [(authValue: [UInt8], secret: [UInt8])] = []
        /// The indices by their numbers: authValue, then kind and tag, then content.
        var indices: [UInt32: (authValue: [UInt8], tag: [UInt8], data: [UInt8])] = [:]
        var requests: [[UInt8]] = []
        /// The reply to each request; nil for that of a TPM.
        var reply: FakeHelper.Reply?
        /// The operations that are refused, with the reason.
        var refusals: [UInt8: UInt8] = [:]
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

    /// Refuses an operation, as an owner password (4) makes a TPM refuse; nil for no reason.
    func refuse(_ operation: UInt8, reason: UInt8?) { state.withLock { $0.refusals[operation] = reason } }

    /// The kinds of the indices, by their numbers.
    var indices: [UInt32: UInt8] { state.withLock { $0.indices.mapValues { $0.tag[0] } } }

    /// Replaces the content of each index of a kind.
    func write(_ data: [UInt8], toIndexOf kind: UInt8) {
        state.withLock { state in
            for number in state.indices.keys where state.indices[number]?.tag[0] == kind {
                state.indices[number]?.data = data
            }
        }
    }

    /// Undefines the indices of a kind.
    func dropIndices(_ kind: UInt8) { state.withLock { $0.indices = $0.indices.filter { $0.value.tag[0] != kind } } }

    /// A TPM of a vector: each blob has this authValue and this secret.
    func put(name: [UInt8], authValue: [UInt8], secret: [UInt8]) {
        state.withLock {
            $0.name = name
            $0.sealed = [(authValue, secret)]
        }
    }

    /// An index of a vector's TPM.
    ///
    /// - Parameter tag: kind and vault id.
    func put(index: UInt32, authValue: [UInt8], tag: [UInt8], data: [UInt8]) {
        state.withLock { $0.indices[index] = (authValue, tag, data) }
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
        if let reason = state.refusals[operation] { return reply(status: 3, reason: reason) }
        if operation == 8, fields.isEmpty { return list(state) }
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
        case (4, 84...): return make(Array(fields[34...]), &state)
        case (5, 87), (6, 55), (7, 88...): return use(operation, Array(fields[34...]), &state)
        default: return reply(status: 12, reason: 13)
        }
    }

    // MARK: Indices

    private static func bytes(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    private static func list(_ state: State) -> FakeHelper.Reply {
        reply(
            state.indices.sorted { $0.key < $1.key }.flatMap { number, index in
                bytes(number) + [index.tag[0], index.tag[0] == 1 ? 3 : 1] + index.tag[1...]
            })
    }

    private static func make(_ fields: [UInt8], _ state: inout State) -> FakeHelper.Reply {
        let free = (UInt32(0x0180_0000)...0x0180_0003).first { number in state.indices[number] == nil }
        guard let free else { return reply(status: 3, reason: 11) }
        state.indices[free] = (Array(fields[..<32]), Array(fields[32..<49]), Array(fields[49...]))
        return reply(bytes(free))
    }

    /// Reads (5), destroys (6) or writes (7) an index.
    private static func use(_ operation: UInt8, _ fields: [UInt8], _ state: inout State) -> FakeHelper.Reply {
        let rest = operation == 6 ? fields : Array(fields[32...])
        let number = rest[17..<21].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard let index = state.indices[number], index.tag == Array(rest[..<17]) else {
            return reply(status: 1, reason: 10)
        }
        if operation == 6 {
            state.indices[number] = nil
            return reply()
        }
        guard index.authValue == Array(fields[..<32]) else { return reply(status: 6, reason: 6) }
        if operation == 7 { state.indices[number]?.data = Array(rest[21...]) }
        return reply(operation == 5 ? index.data : [])
    }
}
