import Glibc
import TokenKeepCore
import TokenKeepSession
import TokenKeepTerminal

/// The exec plugin of kubectl and other Kubernetes clients. Writes an ExecCredential with a token, or with a client
/// certificate and its key.
///
/// The item's service is `kubernetes:NAME`. NAME is the argument or, without an argument, the cluster's address, which
/// the client passes if its configuration says `provideClusterInfo: true`.
enum KubernetesHelper {
    private static let group = "client.authentication.k8s.io/"
    private static let versions = ["v1", "v1beta1"]

    /// Writes the credential of a cluster.
    static func run(_ invocation: inout Invocation) throws {
        let info = try request()
        // The client states whether the plugin may use standard input for prompts.
        if let interactive = info?["spec"]?["interactive"], !interactive.isTrue { invocation.mayPrompt = false }
        let server = info?["spec"]?["cluster"]?["server"]?.text
        guard let name = try invocation.nextWord() ?? server else {
            throw TokenKeepError(
                .invalid, "no cluster is named", hint: "give its name as an argument, or set provideClusterInfo: true")
        }
        let service = "kubernetes:\(name)"
        let command = "tokenkeep save \(ShellWord.quoted(service)) ''"
        guard let found = try CredentialStore(invocation).credential(of: service, nil) else {
            throw TokenKeepError(.notFound, "no credential of \(service) is kept", hint: command)
        }
        try found.checkNotExpired(hint: "save a new one: \(command)")
        try JSONRequest.write(answer(found, version: version(of: info)))
    }

    private static func request() throws(TokenKeepError) -> JSONValue? {
        guard let text = getenv("KUBERNETES_EXEC_INFO") else { return nil }
        let bytes = try SecretBytes(copying: UnsafeRawBufferPointer(start: text, count: strlen(text)))
        return try JSONRequest.read(bytes, from: "KUBERNETES_EXEC_INFO")
    }

    private static func version(of info: JSONValue?) throws(TokenKeepError) -> String {
        guard let info else { return versions[0] }
        let wanted = try info.string("apiVersion") ?? ""
        guard let version = versions.first(where: { wanted == group + $0 }) else {
            throw TokenKeepError(.unsupported, "the client wants another version than v1 and v1beta1 of ExecCredential")
        }
        return version
    }

    private static func answer(_ found: Credential, version: String) throws(TokenKeepError) -> JSONValue {
        let status = try JSONValue.object()
        if let pair = try PEMPair(found.secret) {
            try status.set("clientCertificateData", pair.certificates)
            try status.set("clientKeyData", pair.key)
        } else {
            try found.checkOneLine()
            try status.set("token", found.secret)
        }
        if let expiresAt = found.expiresAt { try status.set("expirationTimestamp", expiresAt.iso8601) }
        let answer = try JSONValue.object()
        try answer.set("apiVersion", group + version)
        try answer.set("kind", "ExecCredential")
        try answer.set("spec", try JSONValue.object())
        try answer.set("status", status)
        return answer
    }
}
