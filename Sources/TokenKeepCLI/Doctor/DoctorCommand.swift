import ArgumentParser
import TokenKeepCore

/// `tokenkeep doctor`.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find out why tokens cannot be kept or found here, and which files hold tokens in plain text.",
        discussion: """
            Asks the vault, the kernel's keyring, the message bus, the keyring's service, the login, the agent and the \
            helpers of git, docker, cargo and Python, side by side, and ends within five seconds. Each finding says what it \
            is, why it matters, and one command. Nothing is changed, nobody is asked, and no secret is shown.

              tokenkeep doctor
              tokenkeep doctor --json

            The exit code is 1 if there is a problem, else 0.
            """.withWholeExamples)

    /// The time limit, in milliseconds, for all checks together.
    private static let limit: UInt32 = 4_500
    /// The exit code if a check found a problem. It is not 7, because 7 means damage and disk errors.
    private static let problemsFound: Int32 = 1

    @Flag(help: "Write a JSON object.")
    var json = false

    @Option(help: .hidden)
    var systemRoot = ""

    func run() throws {
        let findings = Doctor(place: DoctorPlace(root: systemRoot)).findings(withinMilliseconds: DoctorCommand.limit)
        try Terminal.write(json ? JSONOutput.text(Report(findings)) : DoctorCommand.text(findings))
        guard findings.contains(where: { $0.result == .problem }) else { return }
        throw ExitCode(DoctorCommand.problemsFound)
    }

    private static func text(_ findings: [Finding]) -> String {
        let lines = findings.flatMap { finding in
            ["\(finding.result.rawValue) \(finding.name): \(finding.message)"]
                + (finding.reason.map { ["  \($0)"] } ?? []) + (finding.hint.map { ["  hint: \($0)"] } ?? [])
        }
        return lines.map { Terminal.printable($0) + "\n" }.joined()
    }

    /// The JSON object that `--json` prints.
    private struct Report: Encodable {
        private let version = TokenKeepVersion.string
        private let checks: [Check]

        init(_ findings: [Finding]) { checks = findings.map(Check.init) }
    }

    private struct Check: Encodable {
        private let name, result, message: String
        private let reason, hint: JSONOutput.Nullable<String>

        init(_ finding: Finding) {
            name = finding.name
            result = finding.result.rawValue
            message = finding.message
            reason = JSONOutput.Nullable(finding.reason)
            hint = JSONOutput.Nullable(finding.hint)
        }
    }
}

/// Runs the checks of `doctor` concurrently.
struct Doctor {
    /// A check, and the name of its findings.
    private struct Check {
        let name: String
        let run: @Sendable () -> [Finding]
    }

    let place: DoctorPlace

    private var checks: [Check] {
        let place = place
        return [
            Check(name: "stack") { StackCheck.findings() },
            Check(name: "vault") { VaultChecks.vault() },
            Check(name: "password") { VaultChecks.password() },
            Check(name: "memory") { MemoryChecks.memory() },
            Check(name: "kernel-keyring") { MemoryChecks.kernelKeyring() },
            Check(name: "bus") { BusChecks().findings() },
            Check(name: "pending") { VaultChecks.pending() },
            Check(name: "records") { VaultChecks.records() },
            Check(name: "clock") { VaultChecks.clock() },
            Check(name: "login") { LoginCheck(place: place).findings() },
            Check(name: "agent") { AgentCheck.findings() },
            Check(name: "helpers") { GitCheck().findings() },
            Check(name: "helpers") { OtherHelperChecks.docker() },
            Check(name: "helpers") { CargoHelperCheck.findings() },
            Check(name: "helpers") { OtherHelperChecks.python() },
            Check(name: "plaintext") { PlainFileCheck().findings() },
            Check(name: "environment") { EnvironmentCheck(place: place).findings() },
        ]
    }

    /// Runs all checks, and returns their findings in the order of the checks. A check that does not end in time is a
    /// problem.
    func findings(withinMilliseconds limit: UInt32) -> [Finding] {
        let checks = checks
        let results = MutexGuarded<[Int: [Finding]]>([:])
        _ = LimitedWork<Bool>.value(withinMilliseconds: limit) { finish in
            for (number, check) in checks.enumerated() {
                let work = { @Sendable in
                    let findings = check.run()
                    let isLast = results.withLock { results in
                        results[number] = findings
                        return results.count == checks.count
                    }
                    if isLast { finish(true) }
                }
                if DetachedThread.start(work) != 0 { work() }
            }
        }
        let ended = results.withLock { $0 }
        return checks.enumerated().flatMap { number, check in
            ended[number] ?? [
                .problem(
                    check.name, "this check did not end in time",
                    because: "A program or a file system that it asks hangs, and would hold up other programs, too.",
                    hint: "tokenkeep status")
            ]
        }
    }
}

/// The directory tree in which the checks look for files of the system.
struct DoctorPlace: Sendable {
    /// The directory that replaces the root of the file system; empty for the root itself.
    let root: String

    func path(_ path: String) -> String { root + path }

    func exists(_ path: String) -> Bool { ToolPlaces.exists(root + path) }

    /// Reads at most 64 KiB from the start of a file of the system; nil if it cannot be read.
    func text(_ path: String) -> String? { SmallFile.text(root + path) }
}
