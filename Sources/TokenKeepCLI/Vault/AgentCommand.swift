import ArgumentParser
import Glibc
import TokenKeepCore
import TokenKeepKeys

/// `tokenkeep agent`.
struct AgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "The agent that locks items of the level when-unlocked with the screen.",
        discussion: """
            While the screen is unlocked, the agent alone holds the key of the level when-unlocked. It learns of the lock from \
            login1 or a screensaver service, and then revokes the key. The key ends with the agent, too.

              systemctl --user enable --now tokenkeep-agent.socket
              tokenkeep agent test-lock
            """.withWholeExamples,
        subcommands: [Run.self, Status.self, TestLock.self])

    func run() throws { throw UsageError.missingCommand() }

    /// `tokenkeep agent run`.
    struct Run: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "run", abstract: "Become the agent, until the session ends.",
            discussion: "Where systemd runs no user units: start it with the desktop.")

        func run() throws { throw AgentProgram.become([]) }
    }

    /// `tokenkeep agent test-lock`.
    struct TestLock: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test-lock", abstract: "Lock the screen, and show whether the agent saw it.",
            discussion: """
                Asks login1 to lock this session, and waits for ten seconds. If the agent saw the lock, the level when-unlocked \
                is enforced on this desktop. If it did not, the command prints lines for the configuration of the locker.
                """)

        func run() throws { throw AgentProgram.become(["test-lock"]) }
    }

    /// `tokenkeep agent status`.
    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show whether the agent runs, and what it knows of the screen.",
            discussion: "Exits with 4 if no agent answers within half a second.")

        @Flag(help: "Write a JSON object.")
        var json = false

        func run() throws {
            let answer = ClassKeyStore().keyAgent()
            if json {
                try Terminal.write(JSONOutput.text(JSONState(answer)))
            } else if let state = answer.state {
                try Terminal.write(Status.text(state))
            }
            switch answer {
            case .state: return
            case .absent where json, .silent where json: throw ExitCode(TokenKeepCore.Status.unavailable.exitCode)
            case .absent:
                throw TokenKeepError(
                    .unavailable, "no agent runs",
                    hint: "start it: systemctl --user start tokenkeep-agent.socket, or tokenkeep agent run")
            case .silent(let fault):
                throw TokenKeepError(
                    .unavailable, "tokenkeep-agent \(fault)",
                    hint: "start it anew: systemctl --user restart tokenkeep-agent.service")
            }
        }

        private static func text(_ state: KeyAgent.State) -> String {
            let keys = state.isPublished ? "open" : state.holds ? "waiting for the screen" : "none"
            return """
                screen: \(state.isLocked ? "locked" : "open")
                keys: \(keys)
                lock source: \(meaning(state.source))
                proved: \(state.isProved ? "yes" : remedy(state.source))

                """
        }

        private static func remedy(_ source: String) -> String {
            switch source {
            case "no-session": "no; use the level in a graphical session"
            case "nameless": "no; give pam_systemd.so the option desktop=NAME, and log in again"
            default: "no; lock the screen once, or: tokenkeep agent test-lock"
            }
        }

        private static func meaning(_ source: String) -> String {
            switch source {
            case "hint": "login1's LockedHint"
            case "active": "a screensaver's ActiveChanged"
            case "signal": "login1's Lock signal, which does not tell the lock's end"
            case "request": "tokenkeep lock --screen"
            case "sleep": "the machine's sleep"
            case "login1": "none: login1 does not answer"
            case "no-session": "none: there is no graphical session"
            case "nameless": "unknown: this desktop has no name, under which its lock could be noted"
            default: "none has locked this desktop yet"
            }
        }
    }

    private struct JSONState: Encodable {
        private let running, answers, locked, holds, published, proved: Bool
        private let source: JSONOutput.Nullable<String>

        init(_ answer: KeyAgent.Answer) {
            if case .absent = answer { running = false } else { running = true }
            let state = answer.state
            answers = state != nil
            locked = state?.isLocked ?? false
            holds = state?.holds ?? false
            published = state?.isPublished ?? false
            proved = state?.isProved ?? false
            source = JSONOutput.Nullable(state?.source)
        }
    }
}
