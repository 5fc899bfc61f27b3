import TokenKeepCore
import TokenKeepTerminal

/// The protocols that the program speaks.
enum CredentialProtocol: String, CaseIterable {
    case git, docker, cargo, terraform, kubernetes, aws, bazel, token

    /// The file names of the links, each with its protocol.
    private static let links: [String: CredentialProtocol] = [
        "git-credential-tokenkeep": .git, "docker-credential-tokenkeep": .docker,
        "cargo-credential-tokenkeep": .cargo, "terraform-credentials-tokenkeep": .terraform,
        "kubectl-tokenkeep": .kubernetes, "bazel-credential-tokenkeep": .bazel,
    ]

    /// The protocol of the link with this path; nil for the program's own name.
    static func named(byProgram path: String?) -> CredentialProtocol? {
        path?.split(separator: "/" as Character).last.flatMap { links[String($0)] }
    }

    /// The protocol with that name. Throws ``Status/invalid`` if there is none.
    static func named(_ name: String?) throws(TokenKeepError) -> CredentialProtocol {
        let all = CredentialProtocol.allCases.map(\.rawValue).joined(separator: ", ")
        guard let name else { throw TokenKeepError(.invalid, "no protocol is named", hint: "one of \(all)") }
        guard let found = CredentialProtocol(rawValue: name) else {
            throw TokenKeepError(.invalid, "there is no protocol \(name)", hint: "one of \(all)")
        }
        return found
    }

    /// The way in which the protocol's caller expects failures.
    var failureReport: FailureReport {
        switch self {
        case .git: FailureReport(isSilent: { GitSettings.isQuiet })
        case .docker: FailureReport(isOutput: true, exitCode: 1)
        default: FailureReport()
        }
    }

    /// Reads the caller's request and answers it in this protocol.
    func run(_ invocation: inout Invocation) throws {
        switch self {
        case .git: try GitHelper.run(&invocation)
        case .docker: try DockerHelper.run(&invocation)
        case .cargo: try CargoHelper.run(&invocation)
        case .terraform: try TerraformHelper.run(&invocation)
        case .kubernetes: try KubernetesHelper.run(&invocation)
        case .aws: try AWSHelper.run(&invocation)
        case .bazel: try BazelHelper.run(&invocation)
        case .token: try TokenPrinter.run(&invocation)
        }
    }
}
