import TokenKeepCore
import TokenKeepTerminal

/// The protocols that the program speaks.
enum CredentialProtocol: String, CaseIterable {
    case git, docker, cargo, terraform, kubernetes, aws, bazel, token

    /// The protocol of each link to the program, by the link's file name.
    private static let links: [String: CredentialProtocol] = [
        "git-credential-tokenkeep": .git, "docker-credential-tokenkeep": .docker,
        "cargo-credential-tokenkeep": .cargo, "terraform-credentials-tokenkeep": .terraform,
        "kubectl-tokenkeep": .kubernetes, "bazel-credential-tokenkeep": .bazel,
    ]

    /// Returns the protocol of the link with this path; nil if the path has any other file name, for example the
    /// program's own.
    static func named(byProgram path: String?) -> CredentialProtocol? {
        path?.split(separator: "/" as Character).last.flatMap { links[String($0)] }
    }

    /// Returns the protocol with that name.
    ///
    /// - Throws: ``Status/invalid`` if no name is given, or if no protocol has the name.
    static func named(_ name: String?) throws(TokenKeepError) -> CredentialProtocol {
        let all = CredentialProtocol.allCases.map(\.rawValue).joined(separator: ", ")
        guard let name else { throw TokenKeepError(.invalid, "no protocol is named", hint: "one of \(all)") }
        guard let found = CredentialProtocol(rawValue: name) else {
            throw TokenKeepError(.invalid, "there is no protocol \(name)", hint: "one of \(all)")
        }
        return found
    }

    /// The way in which the protocol reports failures to its caller.
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
