import Glibc
import TokenKeepCore

/// This process's client of `tokenkeep-agent`, which holds the keys that are removed at a screen lock.
package final class ScreenKeyAgent: Sendable {
    private struct Memory {
        /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
        var problem: String?
        /// The time, in seconds since boot, until which no request is sent to an agent that did not answer.
        var silentUntil: Int64 = 0
    }

    /// The time, in seconds, in which no request is sent after an unanswered request, so that one call does not wait
    /// for several answers.
    private static let silentSeconds: Int64 = 2

    private let memory = MutexGuarded(Memory())
    /// Whether requests may be sent to the agent. If false, the agent counts as absent.
    private let isReachable: Bool

    init(isReachable: Bool) { self.isReachable = isReachable }

    /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
    var problem: String? { memory.withLock { $0.problem } }

    /// Whether the agent did not answer a request since the last ``askAgain()``.
    var isSilent: Bool { memory.withLock { $0.silentUntil > 0 } }

    /// Ends the pause after an unanswered request, so that the next request is sent.
    func askAgain() { memory.withLock { $0.silentUntil = 0 } }

    /// Queries the agent's state. Waits at most half a second for the answer.
    func state() -> KeyAgent.Answer { asking { KeyAgent.state() } }

    /// Gives the agent a key. Returns false if no agent runs, so that the caller must put the key into the kernel.
    ///
    /// If an agent runs but does not accept the key, the result is true, and the key stays locked.
    func hold(_ key: OpenKey, of vaultID: [UInt8]) -> Bool {
        let answer = asking { KeyAgent.hold(key.bytes, key.id, for: key.purpose, of: vaultID) }
        let problem: String? =
            switch answer {
            case .absent: nil
            case .silent(let fault): "tokenkeep-agent \(fault)"
            case .state(let state) where state.status != 0: "the kernel refuses tokenkeep-agent the key"
            case .state(let state) where state.isPublished: nil
            case .state(let state) where state.source == "login1":
                "tokenkeep-agent cannot ask login1 whether the screen is locked"
            case .state: "the screen is locked; they open with it"
            }
        memory.withLock { $0.problem = problem }
        guard case .absent = answer else { return true }
        return false
    }

    /// Notifies the agent that the screen is locked. A failure is ignored, because the keys are already revoked.
    ///
    /// The request is sent even to an agent that did not answer, and takes effect as soon as this agent continues.
    package func lock() { _ = asking(evenIfSilent: true) { KeyAgent.lockScreen() } }

    /// Requests that the agent drop a vault's keys. A failure is ignored, because the keys are already revoked.
    ///
    /// The request is sent even to an agent that did not answer.
    func drop(_ vaultID: [UInt8]) { _ = asking(evenIfSilent: true) { KeyAgent.drop(vaultID) } }

    private func asking(evenIfSilent: Bool = false, _ ask: () -> KeyAgent.Answer) -> KeyAgent.Answer {
        guard isReachable else { return .absent }
        let now = ClassKeyStore.timeSinceBoot()
        guard evenIfSilent || memory.withLock({ $0.silentUntil <= now }) else { return .silent("does not answer") }
        let answer = ask()
        if case .silent = answer {
            memory.withLock { $0.silentUntil = now + ScreenKeyAgent.silentSeconds }
        }
        return answer
    }
}
