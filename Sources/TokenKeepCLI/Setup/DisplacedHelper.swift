/// The credentials of a helper that setup displaces.
enum DisplacedHelper {
    private static let keyring = "tokenkeep import --from secret-service"

    /// The note that a helper is displaced, with the command that imports its credentials; nil for no command.
    static func note(_ helper: String, moves command: String?) -> String {
        "displaces the helper \(helper)" + (command.map { "; its logins come over with: \($0)" } ?? "")
    }

    /// The command that imports the credentials of a helper of git.
    static func git(_ helper: String) -> String? {
        let name = helper.split(separator: "/" as Character).last ?? ""
        switch name.hasPrefix("git-credential-") ? name.dropFirst("git-credential-".count) : name {
        case "libsecret", "manager", "manager-core": return keyring
        case "store": return "tokenkeep import --from git-credentials --remove"
        default: return nil
        }
    }

    /// The command that imports the credentials of a helper of docker or podman.
    static func docker(_ helper: String) -> String? { helper == "secretservice" ? keyring : nil }
}
