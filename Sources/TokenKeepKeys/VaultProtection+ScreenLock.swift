import TokenKeepCore

/// Computes the protection of ``AccessLevel/whenUnlocked`` during a screen lock, in a vault with a password.
extension VaultProtection {
    /// Computes the protection. It is enforced only if the agent alone has the key and is known to notice this
    /// desktop's screen lock.
    static func screenLock(_ agent: KeyAgent.Answer, isReadableWithoutAgent: Bool) -> Protection.Axis {
        switch agent {
        case .absent:
            return Protection.Axis(
                .advisory,
                "the kernel ends the key \(ClassKeyStore.whenUnlockedSeconds) seconds after each unlock; no agent watches the screen",
                remedy: "start the agent: systemctl --user start tokenkeep-agent.socket, or tokenkeep agent run")
        case .silent(let fault):
            return Protection.Axis(
                .advisory, "tokenkeep-agent \(fault)",
                remedy: "start it anew: systemctl --user restart tokenkeep-agent.service")
        case .state(let state) where state.isProved && isReadableWithoutAgent:
            return Protection.Axis(
                .advisory, "an unlock without the agent left the key in the kernel",
                remedy: "give the agent the key: tokenkeep lock --screen, then tokenkeep unlock")
        case .state(let state) where state.isProved:
            return Protection.Axis(
                .enforced, "the agent alone has the key, and revokes it when the screen is locked (\(word(state)))")
        case .state(let state) where state.source == "login1":
            return Protection.Axis(
                .advisory, "the agent cannot ask login1 about the screen, and keeps the level locked",
                remedy: "see that systemd-logind answers: loginctl list-sessions")
        case .state(let state) where state.source == "no-session":
            return Protection.Axis(
                .advisory, "without a graphical session there is no screen to lock; the kernel ends the key",
                remedy: "use the level in a graphical session")
        case .state(let state) where state.source == "nameless":
            return Protection.Axis(
                .advisory, "this desktop has no name, under which its lock could be noted",
                remedy: "give pam_systemd.so the option desktop=NAME, and log in again")
        case .state:
            return Protection.Axis(
                .advisory, "the agent has not yet seen this desktop's lock",
                remedy: "lock the screen once, or: tokenkeep agent test-lock")
        }
    }

    private static func word(_ state: KeyAgent.State) -> String {
        switch state.source {
        case "hint": "login1's LockedHint"
        case "active": "a screensaver's ActiveChanged"
        default: "it is locked now"
        }
    }
}
