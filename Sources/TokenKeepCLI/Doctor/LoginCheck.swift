import TokenKeepCore
import TokenKeepEngine
import TokenKeepKeys
import TokenKeepRecords

/// Checks the login: the lines of pam_tokenkeep.so in PAM's services, their positions, and the outcome of the last
/// login.
struct LoginCheck {
    let place: DoctorPlace

    func findings() -> [Finding] {
        guard let store = try? Store(StoreConfiguration(stackText: "any required vault")) else { return [] }
        let directories = ["/etc/pam.d", "/usr/lib/pam.d"].map(place.path)
        let services = PAMServices(directories: directories)
        let misplaced = misplaced(services)
        guard misplaced.isEmpty else { return misplaced }
        switch VaultState(store.records) {
        case .absent, .withoutPassword, .unusable: return [.ok("login", "there is nothing to unlock")]
        case .locked, .partlyUnlocked, .unlocked: break
        }
        guard services.found().contains(where: \.hasAuthentication) else {
            return [
                .note(
                    "login", "no PAM service runs pam_tokenkeep.so",
                    because: "The vault stays locked after each start of the machine, until tokenkeep unlock.",
                    hint: "sudo pam-auth-update --enable tokenkeep")
            ]
        }
        let note = LastLogin.read(store.records)
        guard let note, note.outcome != .unlocked else {
            return [.ok("login", note.map { "\($0.sentence) (\($0.service))" } ?? "no login has reached the vault yet")]
        }
        return [
            .problem(
                "login", "\(note.sentence) (\(note.service), \(note.time.iso8601))",
                because: "The vault stays locked after a login.", hint: LoginCheck.remedy(note.outcome))
        ]
    }

    private static func remedy(_ outcome: LastLogin.Outcome) -> String {
        outcome == .wrongPassword || outcome == .notFollowed ? "tokenkeep password change" : "tokenkeep unlock"
    }

    private func misplaced(_ services: PAMServices) -> [Finding] {
        (PAMServiceNames.logins + PAMServiceNames.lockers).compactMap { service in
            guard let fault = services.placeFault(in: service) else { return nil }
            return .problem(
                "login", "\(service): pam_tokenkeep.so stands \(fault.words)", because: fault.consequence,
                hint: "sudo pam-auth-update --enable tokenkeep")
        }
    }
}

/// Checks `tokenkeep-agent`.
enum AgentCheck {
    static func findings() -> [Finding] {
        switch ClassKeyStore().keyAgent() {
        case .absent:
            return [.ok("agent", "none runs: items of the level when-unlocked do not lock with the screen")]
        case .silent(let fault):
            return [
                .problem(
                    "agent", "tokenkeep-agent \(fault)",
                    because: "Items of the level when-unlocked stay locked until it answers.",
                    hint: "systemctl --user restart tokenkeep-agent.service")
            ]
        case .state(let state):
            guard state.isProved || state.source == "no-session" else {
                return [
                    .note(
                        "agent", "runs, but no lock of this desktop's screen has reached it yet",
                        because: "The level when-unlocked is advisory until the agent has seen a lock.",
                        hint: "tokenkeep agent test-lock")
                ]
            }
            return [.ok("agent", "runs; the screen is \(state.isLocked ? "locked" : "open")")]
        }
    }
}
