import CSystemShims
import Glibc
import TokenKeepCore

/// The user's `tokenkeep-agent`, which holds the keys of levels that end with the screen's lock (docs/screen-lock.md).
package enum KeyAgent {
    /// The agent's answer to a request.
    package enum Answer: Sendable {
        /// No agent of this user listens.
        case absent
        /// An agent listens and did not answer as it should. The text says what it does, as in "does not answer".
        case silent(String)
        /// The agent answered.
        case state(State)

        /// The agent's state; nil if it did not answer.
        package var state: State? {
            guard case .state(let state) = self else { return nil }
            return state
        }
    }

    /// The state of an agent that answered.
    package struct State: Sendable {
        /// 0, or the ``Status`` of a request that failed.
        package let status: UInt32
        /// Whether the agent has a key, published or waiting for the screen.
        package let holds: Bool
        /// Whether the key of the request, or any key, can be read by the user's processes.
        package let isPublished: Bool
        /// Whether the screen counts as locked.
        package let isLocked: Bool
        /// Whether a lock source was seen to lock each kind of desktop that the user's sessions have now.
        package let isProved: Bool
        /// The word of the lock source: `hint`, `active`, `signal`, `request`, `sleep`, `login1`, `no-session`,
        /// `nameless` or `none`.
        package let source: String
    }

    /// Asks for the agent's state.
    package static func state() -> Answer { ask(operation: 1, []) }

    /// Gives the agent a key, which it publishes as soon as the screen is open.
    static func hold(_ key: SecretBytes, _ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) -> Answer {
        let name = vaultID + [purpose.number] + withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return ask(operation: 2, name, key)
    }

    /// Tells the agent that the screen is locked.
    package static func lockScreen() -> Answer { ask(operation: 3, []) }

    /// Tells the agent to drop a vault's keys.
    static func drop(_ vaultID: [UInt8]) -> Answer { ask(operation: 4, vaultID) }

    private static let signature = Array("TKA1".utf8)
    private static let milliseconds: UInt32 = 500
    private static let longestReply = 64

    private static func ask(operation: UInt8, _ argument: [UInt8], _ key: SecretBytes? = nil) -> Answer {
        let head = signature + [operation] + argument
        let length = head.count + (key?.count ?? 0)
        let request = try? SecretBytes(count: length) { bytes in
            bytes.copyBytes(from: head)
            key?.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: bytes[head.count...]).copyMemory(from: $0)
            }
        }
        guard let request else { return .silent("cannot be asked: there is no memory") }
        var reply = [UInt8](repeating: 0, count: longestReply)
        var count = 0
        let error = request.withUnsafeBytes {
            tokenkeep_agent_ask($0.baseAddress, $0.count, milliseconds, &reply, reply.count, &count)
        }
        switch error {
        case 0: return parse(reply.prefix(count)).map(Answer.state) ?? .silent("gives a malformed answer")
        case ENOENT: return .absent
        case ETIMEDOUT: return .silent("does not answer")
        default: return .silent("cannot be asked")
        }
    }

    /// Parses a reply; nil if it is malformed.
    static func parse(_ reply: some Collection<UInt8>) -> State? {
        let reply = Array(reply)
        guard reply.count >= 9, Array(reply.prefix(4)) == signature else { return nil }
        let word = reply.dropFirst(9)
        guard word.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 45 }) else { return nil }
        let bits = reply[8]
        return State(
            status: reply[4..<8].reduce(0) { $0 << 8 | UInt32($1) }, holds: bits & 1 != 0, isPublished: bits & 2 != 0,
            isLocked: bits & 4 != 0, isProved: bits & 8 != 0, source: String(decoding: word, as: UTF8.self))
    }
}
