import TokenKeepCore
import TokenKeepSession

/// The warnings about accounts that were signed out. Each failed hook has one warning, and so has each account whose
/// token may still be valid. If a service has more than five such accounts, they share one warning.
struct LogoutWarnings {
    /// The reason why a token may still be valid at the server.
    private enum Reason: Equatable {
        case queued, locked
        case uncleared(TokenKeepError)

        init?(_ report: EndReport) {
            switch report.revocation {
            case .done, .none: return nil
            case .queued: self = .queued
            case .waitingForUnlock:
                guard let problem = report.problem, problem.status != .locked else {
                    self = .locked
                    return
                }
                self = .uncleared(problem)
            }
        }

        func words(ofOne: Bool) -> String {
            switch self {
            case .queued: "the server has not revoked \(ofOne ? "the token" : "their tokens")"
            case .locked: ofOne ? "the record is locked" : "their records are locked"
            case .uncleared(let problem):
                "\(ofOne ? "the record" : "a record") cannot be cleared yet: \(problem.message)"
            }
        }
    }

    private static let mostNamed = 5

    /// The command that revokes the tokens later.
    private let flush: String
    private let programs = LogoutHooks.programs()
    /// The hooks that failed, each with the accounts for which it failed. `refusal` is the reason why a hook must not
    /// run; nil if the hook may run.
    private var hooks: [(name: String, refusal: TokenKeepError?, accounts: [ItemName])] = []
    private var left: [(reason: Reason, names: [ItemName])] = []

    init(flush: String) { self.flush = flush }

    /// Adds the warnings about the end of an account's session.
    mutating func add(_ report: EndReport, of name: ItemName) {
        for hook in report.hooks where hook.result == .failed {
            if let index = hooks.firstIndex(where: { $0.name == hook.name }) {
                hooks[index].accounts.append(name)
            } else {
                hooks.append((hook.name, programs.first { $0.name == hook.name }?.refusal, [name]))
            }
        }
        guard let reason = Reason(report) else { return }
        // Two errors are equal if their statuses are equal. Their messages are not compared, because they contain the
        // names of accounts.
        if let index = left.firstIndex(where: { $0.reason == reason && $0.names[0].service == name.service }) {
            left[index].names.append(name)
        } else {
            left.append((reason, [name]))
        }
    }

    /// Writes the warnings to standard error.
    func show() {
        for (hook, refusal, accounts) in hooks {
            let subject = accounts.count == 1 ? "\(accounts[0])" : "\(accounts.count) accounts"
            Terminal.warn(refusal ?? TokenKeepError(.io, "the hook \(hook) failed for \(subject)"))
        }
        for (reason, names) in left {
            if names.count > LogoutWarnings.mostNamed {
                warn(reason, LogoutWarnings.subject(names), ofOne: false)
            } else {
                for name in names { warn(reason, "\(name) is", ofOne: true) }
            }
        }
    }

    private static func subject(_ names: [ItemName]) -> String {
        let shown = names.map(\.account).sorted().prefix(mostNamed).joined(separator: ", ")
        return "\(names[0].service) (\(shown) and \(names.count - mostNamed) more) are"
    }

    private func warn(_ reason: Reason, _ subject: String, ofOne: Bool) {
        let when = reason == .locked ? "after the unlock " : ""
        Terminal.warn(
            TokenKeepError(
                .unavailable, "\(subject) signed out here; \(reason.words(ofOne: ofOne))",
                hint: "\(when)\(flush) revokes \(ofOne ? "the token" : "the tokens")"))
    }
}
