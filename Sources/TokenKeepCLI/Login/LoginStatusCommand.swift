import ArgumentParser
import TokenKeepCore
import TokenKeepEngine
import TokenKeepRecords

/// `tokenkeep login status`.
struct LoginStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show whether the last login unlocked the vault, and what to do if it did not.",
        discussion: """
            Names the PAM services that run pam_tokenkeep.so, and those of logins and lockers that do not. Nothing is \
            changed.

              tokenkeep login status
              tokenkeep login status --json
            """.withWholeExamples)

    @Flag(help: "Write a JSON object.")
    var json = false

    @Option(help: .hidden)
    var pamDirectory: [String] = ["/etc/pam.d", "/usr/lib/pam.d"]

    func run() throws {
        let store = try Store(StoreConfiguration(stackText: "any required vault"))
        let services = PAMServices(directories: pamDirectory)
        let note = LastLogin.read(store.records)
        let report = LoginReport(
            vault: VaultState(store.records), note: note, services: services.found(),
            lacksAuthLine: note?.outcome == .noPassword && note.map { services.lacksAuthLine($0.service) } == true)
        try Terminal.write(json ? JSONOutput.text(report.json) : report.text)
    }
}

/// The report of `tokenkeep login status`.
struct LoginReport {
    let vault: VaultState
    let note: LastLogin?
    let services: [PAMServices.Found]
    /// Whether pam_tokenkeep.so got no password at the last login because the PAM service has no `auth` line of the
    /// module.
    let lacksAuthLine: Bool

    /// The remedy for the last login's outcome; nil if that login unlocked the vault, or if no login is recorded.
    private var remedy: String? {
        guard let note, lacksAuthLine else { return note?.hint }
        return "add the auth line of docs/login.md to /etc/pam.d/\(note.service); for now: tokenkeep unlock"
    }

    private var sentence: String? {
        lacksAuthLine ? "its PAM service has no auth line of pam_tokenkeep.so, which got no password" : note?.sentence
    }

    /// The next step for the user; nil if there is nothing to do.
    var hint: String? {
        switch vault {
        case .absent, .withoutPassword: return "give the vault the login's password: tokenkeep password set"
        case .unusable(let error): return error.hint ?? "tokenkeep status says more"
        case .locked, .unlocked, .partlyUnlocked: break
        }
        if let hint = remedy, note?.outcome == .notFollowed || note?.outcome == .wrongPassword || vault == .locked {
            return hint
        }
        if !services.contains(where: \.hasAuthentication) {
            return "no PAM service runs pam_tokenkeep.so: see docs/login.md"
        }
        return note == nil ? "no login has reached the vault yet: sign in, or run tokenkeep unlock" : nil
    }

    var text: String {
        let outcome = note.map { "\(sentence ?? "") (\($0.service), \($0.time.iso8601))" } ?? "none reached the vault"
        let with = services.filter(\.isComplete).map(\.service)
        let without = services.filter { !$0.isComplete }.map { "\($0.service) (\($0.missing.joined(separator: ", ")))" }
        let lines =
            ["vault: \(vault.words)", "last login: \(outcome)"]
            + (with.isEmpty ? [] : ["PAM services with pam_tokenkeep: \(with.joined(separator: ", "))"])
            + (without.isEmpty ? [] : ["PAM services that lack a line of it: \(without.joined(separator: ", "))"])
            + (hint.map { ["hint: \($0)"] } ?? [])
        return lines.map { Terminal.printable($0) + "\n" }.joined()
    }

    struct JSON: Encodable {
        let vault: String
        let last: JSONOutput.Nullable<JSONOutput.Login>
        let services: [Service]
        let hint: JSONOutput.Nullable<String>

        struct Service: Encodable {
            let service: String
            let missing: [String]
        }
    }

    var json: JSON {
        JSON(
            vault: vault.name,
            last: JSONOutput.Nullable(
                note.map { JSONOutput.Login($0, lacksAuthLine ? "no-auth-line" : nil, hint: remedy) }),
            services: services.map { JSON.Service(service: $0.service, missing: $0.missing) },
            hint: JSONOutput.Nullable(hint))
    }
}
