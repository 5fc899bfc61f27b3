import Glibc
package import TokenKeepCore

/// Keys that end with the screen's lock: the agent holds them, if one runs.
extension ClassKeyStore {
    struct AgentMemory {
        /// The reason why the last unlock opened no item of ``AccessLevel/whenUnlocked``; nil if it did.
        var problem: String?
        /// Until when an agent that did not answer is not asked again, in seconds since boot.
        var silentUntil: Int64 = 0
    }

    /// The time for which an agent that did not answer is not asked again: a call may need its answer several times.
    private static let silentSeconds: Int64 = 2
    /// How often an agent that may be starting is asked. An agent that hangs answers none within half a second.
    private static let patientAttempts = 5

    /// The reason why the last unlock opened no item of ``AccessLevel/whenUnlocked``; nil if it did.
    package var screenKeyProblem: String? { agentMemory.withLock { $0.problem } }

    /// The state of the user's agent, within half a second.
    package func keyAgent() -> KeyAgent.Answer {
        guard usesKernel, KernelKeyring.obstacle == nil else { return .absent }
        return asking { KeyAgent.state() }
    }

    /// Whether a key can be read only while the agent holds it, and the agent's lock source is proved.
    func isEnforced(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel && KernelKeyring.isHeldByAgent(ClassKeyStore.place(of: id, for: purpose, vaultID)) == true
            && keyAgent().state?.isProved == true
    }

    /// Whether the kernel has one of these keys directly, so that it does not end with the agent.
    func isReadableWithoutAgent(_ ids: [UInt64], for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel
            && ids.contains { KernelKeyring.isHeldByAgent(ClassKeyStore.place(of: $0, for: purpose, vaultID)) == false }
    }

    /// Gives the agent a key. False if no agent runs: the key is then to be published for its time.
    ///
    /// If an agent runs and does not take the key, nobody publishes it.
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

    /// Keeps keys as ``keep(_:_:of:expiringAfter:)`` does, and again while the agent does not answer: with the session
    /// that begins it may be starting.
    package func keepWithPatience(_ keys: [OpenKey], of vaultID: [UInt8], _ deadline: Deadline) throws(TokenKeepError) {
        for _ in 0..<ClassKeyStore.patientAttempts {
            agentMemory.withLock { $0.silentUntil = 0 }
            try keep(keys, nil, of: vaultID)
            guard agentMemory.withLock({ $0.silentUntil > 0 }), !deadline.hasPassed else { return }
        }
    }

    /// Tells the agent that the screen is locked. A failure is ignored: the keys are revoked.
    ///
    /// An agent that did not answer is told, too: it obeys the request once it runs again.
    package func lockAgent() { _ = asking(evenIfSilent: true) { KeyAgent.lockScreen() } }

    /// Tells the agent to drop a vault's keys. A failure is ignored: the keys are revoked.
    ///
    /// An agent that did not answer is told, too.
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
