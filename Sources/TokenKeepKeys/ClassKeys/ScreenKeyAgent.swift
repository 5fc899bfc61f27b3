import Glibc
import TokenKeepCore

/// `tokenkeep-agent`, which holds the keys that are removed when the screen is locked, as this process sees it.
package final class ScreenKeyAgent: Sendable {
    private struct Memory {
        /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
        var problem: String?
        /// The time before which an agent that did not answer is not asked again, in seconds since boot.
        var silentUntil: Int64 = 0
    }

    /// The seconds for which an agent that did not answer is not asked again. One call may need several answers.
    private static let silentSeconds: Int64 = 2

    private let memory = MutexGuarded(Memory())
    /// Whether the agent may be asked. If false, it counts as absent.
    private let isReachable: Bool

    init(isReachable: Bool) { self.isReachable = isReachable }

    /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
    var problem: String? { memory.withLock { $0.problem } }

    /// Whether the agent has left a request unanswered since the last ``askAgain()``.
    var isSilent: Bool { memory.withLock { $0.silentUntil > 0 } }

    /// Asks the agent again at the next request, even if it did not answer the last one.
    func askAgain() { memory.withLock { $0.silentUntil = 0 } }

    /// The agent's state. Waits for the answer for at most half a second.
    func state() -> KeyAgent.Answer { asking { KeyAgent.state() } }

    /// Gives the agent a key; false if no agent runs, so that the caller must put the key into the kernel.
    ///
    /// If an agent runs but does not take the key, the result is true, and the key stays locked.
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

    /// Tells the agent that the screen is locked. A failure is ignored, because the keys are already revoked.
    ///
    /// The request is sent even to an agent that did not answer, and takes effect when this agent runs again.
    package func lock() { _ = asking(evenIfSilent: true) { KeyAgent.lockScreen() } }

    /// Tells the agent to drop a vault's keys. A failure is ignored, because the keys are already revoked.
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
