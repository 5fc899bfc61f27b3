import CSystemShims
import Glibc
import TokenKeepCore

/// The user's `tokenkeep-agent`, which holds the keys that are removed at a screen lock (docs/screen-lock.md).
package enum KeyAgent {
    /// The agent's answer to a request.
    package enum Answer: Sendable {
        /// No agent of this user listens.
        case absent
        /// An agent listens but gave no valid answer. The text describes the fault, for example "does not answer".
        case silent(String)
        /// The agent answered.
        case state(State)

        /// The agent's state; nil if the agent gave no valid answer.
        package var state: State? {
            guard case .state(let state) = self else { return nil }
            return state
        }
    }

    /// The state of an agent that answered.
    package struct State: Sendable {
        /// 0, or the ``Status`` of a request that failed.
        package let status: UInt32
        /// Whether the agent has a key, which is either published or withheld until the screen is unlocked.
        package let holds: Bool
        /// Whether the user's processes can read the requested key. If the request names no key: whether they can read
        /// at least one key.
        package let isPublished: Bool
        /// Whether the screen counts as locked.
        package let isLocked: Bool
        /// Whether the agent is known to notice the screen's lock on each kind of desktop in the user's present
        /// sessions.
        package let isProved: Bool
        /// The name of the source from which the agent learns of screen locks.
        ///
        /// One of `hint`, `active`, `signal`, `request`, `sleep`, `login1`, `no-session`, `nameless` and `none`.
        package let source: String
    }

    /// Queries the agent's state.
    package static func state() -> Answer { ask(operation: 1, []) }

    /// Gives the agent a key, which the agent publishes as soon as the screen is unlocked.
    static func hold(_ key: SecretBytes, _ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) -> Answer {
        let name = vaultID + [purpose.number] + withUnsafeBytes(of: id.bigEndian) { Array($0) }
        return ask(operation: 2, name, key)
    }

    /// Notifies the agent that the screen is locked.
    package static func lockScreen() -> Answer { ask(operation: 3, []) }

    /// Requests that the agent drop a vault's keys.
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

    /// Parses a reply of the agent; nil if the reply is malformed.
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
