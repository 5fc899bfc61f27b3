import Glibc
package import TokenKeepCore

/// Functions for the keys that are removed at a screen lock. If `tokenkeep-agent` runs, the agent holds these keys.
extension ClassKeyStore {
    /// The maximum number of requests to an agent that may still be starting. Each request takes at most half a second.
    private static let patientAttempts = 5

    /// The reason why the last unlock left items of ``AccessLevel/whenUnlocked`` locked; nil if it unlocked them.
    package var screenKeyProblem: String? { agent.problem }

    /// Queries the state of the user's agent. Waits at most half a second for the answer.
    package func keyAgent() -> KeyAgent.Answer {
        guard usesKernel, KernelKeyring.obstacle == nil else { return .absent }
        return agent.state()
    }

    /// Whether only the agent has this key, and the agent is known to notice the screen's lock on this desktop.
    func isEnforced(_ id: UInt64, for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel && KernelKeyring.isHeldByAgent(ClassKeyPlace.of(id, for: purpose, vaultID)) == true
            && keyAgent().state?.isProved == true
    }

    /// Whether the kernel has one of these keys independently of the agent, so that the key outlives the agent.
    func isReadableWithoutAgent(_ ids: [UInt64], for purpose: KeyPurpose, of vaultID: [UInt8]) -> Bool {
        usesKernel
            && ids.contains { KernelKeyring.isHeldByAgent(ClassKeyPlace.of($0, for: purpose, vaultID)) == false }
    }

    /// Keeps keys like ``keep(_:_:of:expiringAfter:)``. While the agent does not answer, repeats the attempt up to four
    /// times.
    ///
    /// The agent may still be starting, because it starts with the user's session.
    package func keepWithPatience(_ keys: [OpenKey], of vaultID: [UInt8], _ deadline: Deadline) throws(TokenKeepError) {
        for _ in 0..<ClassKeyStore.patientAttempts {
            agent.askAgain()
            try keep(keys, nil, of: vaultID)
            guard agent.isSilent, !deadline.hasPassed else { return }
        }
    }
}
