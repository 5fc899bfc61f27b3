import TokenKeepTerminal

/// The commands that move the token, or the certificate and its key, of a user in kubectl's settings.
enum KubeUsers {
    /// The kind of secret that a user of the settings has in plain text.
    enum Secret {
        case token, key
    }

    private static let (certificate, key) = ("client-certificate-data", "client-key-data")
    /// The user in a command if the settings name none: kubectl is not installed, or the user has another kind of secret.
    private static let anybody = "NAME"

    /// The command for the first user in a file that has such a secret.
    static func command(for secret: Secret, in path: String) -> String {
        let name = name(with: secret, in: path) ?? anybody
        let save = "\(quoted("kubernetes:\(name)")) ''"
        let into =
            "tokenkeep save \(save) && kubectl-tokenkeep \(quoted(name)) >/dev/null && "
            + "kubectl config set-credentials \(quoted(name)) \(secret == .token ? "--token= " : "")"
            + "--exec-api-version=client.authentication.k8s.io/v1 --exec-command=kubectl-tokenkeep "
            + "\(quoted("--exec-arg=\(inList(name))")) --exec-interactive-mode=IfAvailable"
        guard secret == .key else { return "\(field("token", of: name)) | \(into)" }
        let unset = [certificate, key].map { " && kubectl config unset \(quoted("users.\(name).\($0)"))" }
        return "{ \(field(certificate, of: name)) | base64 -d; echo; \(field(key, of: name)) | base64 -d; } | \(into)"
            + unset.joined()
    }

    /// The first user who has such a secret. kubectl prints `REDACTED` in the secret's place.
    private static func name(with secret: Secret, in path: String) -> String? {
        let field = secret == .token ? "token" : key
        let template = "jsonpath={range .users[*]}{.user.\(field)}{\"\\t\"}{.name}{\"\\n\"}{end}"
        let answer = AskedProgram.run(
            "kubectl", ["config", "view", "--kubeconfig", path, "-o", template], until: AskedProgram.deadline)
        guard case .ended(exitCode: 0, let output) = answer else { return nil }
        for line in output.split(separator: "\n" as Character) {
            let parts = line.split(separator: "\t" as Character, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else { continue }
            // A command for a name with such a character could not be pasted.
            guard !parts[1].unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
                continue
            }
            return String(parts[1])
        }
        return nil
    }

    /// A command that prints a field of a user.
    private static func field(_ field: String, of name: String) -> String {
        let text = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return
            "kubectl config view --raw -o \(ShellWord.quoted("jsonpath={.users[?(@.name==\"\(text)\")].user.\(field)}"))"
    }

    /// The name as a part of a list that kubectl reads as CSV.
    private static func inList(_ name: String) -> String {
        guard name.contains(where: { ",\"".contains($0) }) else { return name }
        return "\"" + name.replacing("\"", with: "\"\"") + "\""
    }

    /// The word of a shell, which does not interpret an equals sign behind a letter either.
    private static func quoted(_ word: String) -> String {
        ShellWord.isPlain(word.filter { $0 != "=" }) ? word : ShellWord.quoted(word)
    }
}
