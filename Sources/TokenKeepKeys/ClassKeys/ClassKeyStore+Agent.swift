import Glibc
package import TokenKeepCore

/// Keeps the keys that are removed when the screen is locked in `tokenkeep-agent`, if this agent runs.
extension ClassKeyStore {
    struct AgentMemory {
        /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
        var problem: String?
        /// The time before which an agent that did not answer is not asked again, in seconds since boot.
        var silentUntil: Int64 = 0
    }

    /// The seconds for which an agent that did not answer is not asked again. One call may need several answers.
    private static let silentSeconds: Int64 = 2
    /// The maximum number of requests to an agent that may still be starting. Each request takes at most half a second.
    private static let patientAttempts = 5

    /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
    package var screenKeyProblem: String? { agentMemory.withLock { $0.problem } }

    /// Asks the user's agent for its state. Waits for the answer for at most half a second.
    package func keyAgent() -> KeyAgent.Answer {
        guard usesKernel, KernelKeyring.obstacle == nil else { return .absent }
        return asking { KeyAgent.state() }
    }

    /// Whether only the agent has this key, and the agent is known to notice the screen's lock on this desktop.
    func isEnforced(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel && KernelKeyring.isHeldByAgent(ClassKeyStore.place(of: id, for: purpose, vaultID)) == true
            && keyAgent().state?.isProved == true
    }

    /// Whether the kernel has one of these keys independently of the agent, so that the key outlives the agent.
    func isReadableWithoutAgent(_ ids: [UInt64], for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel
            && ids.contains { KernelKeyring.isHeldByAgent(ClassKeyStore.place(of: $0, for: purpose, vaultID)) == false }
    }

    /// Gives the agent a key; false if no agent runs, so that the caller must put the key into the kernel.
    ///
    /// If an agent runs but does not take the key, the result is true, and the key stays locked.
    func giveAgent(_ key: OpenKey, of vaultID: [UInt8]) -> Bool {
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
        agentMemory.withLock { $0.problem = problem }
        guard case .absent = answer else { return true }
        return false
    }

    /// Keeps keys like ``keep(_:_:of:expiringAfter:)``, and repeats the attempt while the agent does not answer.
    ///
    /// The agent may still be starting, because it starts with the user's session.
    package func keepWithPatience(_ keys: [OpenKey], of vaultID: [UInt8], _ deadline: Deadline) throws(TokenKeepError) {
        for _ in 0..<ClassKeyStore.patientAttempts {
            agentMemory.withLock { $0.silentUntil = 0 }
            try keep(keys, nil, of: vaultID)
            guard agentMemory.withLock({ $0.silentUntil > 0 }), !deadline.hasPassed else { return }
        }
    }

    /// Tells the agent that the screen is locked. A failure is ignored, because the keys are already revoked.
    ///
    /// The request is sent even to an agent that did not answer, and takes effect when this agent runs again.
    package func lockAgent() { _ = asking(evenIfSilent: true) { KeyAgent.lockScreen() } }

    /// Tells the agent to drop a vault's keys. A failure is ignored, because the keys are already revoked.
    ///
    /// The request is sent even to an agent that did not answer.
    func dropAgentKeys(of vaultID: [UInt8]) { _ = asking(evenIfSilent: true) { KeyAgent.drop(vaultID) } }

    private func asking(evenIfSilent: Bool = false, _ ask: () -> KeyAgent.Answer) -> KeyAgent.Answer {
        guard !isSimulated else { return .absent }
        let now = ClassKeyStore.timeSinceBoot()
        guard evenIfSilent || agentMemory.withLock({ $0.silentUntil <= now }) else { return .silent("does not answer") }
        let answer = ask()
        if case .silent = answer {
            agentMemory.withLock { $0.silentUntil = now + ClassKeyStore.silentSeconds }
        }
        return answer
    }
}
