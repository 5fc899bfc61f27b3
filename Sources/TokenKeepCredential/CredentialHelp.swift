import TokenKeepCore
import TokenKeepTerminal

/// Prints the help and the version, for a person who calls the program.
enum CredentialHelp {
    private static let text = """
        usage: tokenkeep-credential [OPTIONS] PROTOCOL [ARGUMENTS]

        Speaks the protocols by which other programs ask for credentials. docs/tools.md has a recipe for each of them;
        tokenkeep setup writes the settings of git, docker and cargo.

          git get|store|erase|capability           docker get|store|erase|list|version
          cargo --cargo-plugin                     terraform get|store|forget HOST
          kubernetes [NAME]                        aws [PROFILE]
          bazel get                                token tokenkeep://SERVICE/ACCOUNT

        A link that is named git-credential-tokenkeep, docker-credential-tokenkeep, cargo-credential-tokenkeep,
        terraform-credentials-tokenkeep, kubectl-tokenkeep or bazel-credential-tokenkeep speaks that protocol.

        --namespace NAME, --stack STACK, --timeout DURATION, --password-file FILE and --password-fd NUMBER are those of
        tokenkeep. --interactive asks on the terminal for the vault's password. --quit-when-locked lets git ask nobody
        else while a place is locked.

        """

    /// Prints the help or the version if the only argument is `--help`, `-h` or `--version`.
    ///
    /// - Returns: whether the help or the version was printed.
    static func answers(_ arguments: [String]) throws -> Bool {
        switch arguments {
        case ["--help"], ["-h"]: try Terminal.write(text)
        case ["--version"]: try Terminal.write("tokenkeep-credential \(TokenKeepVersion.string)\n")
        default: return false
        }
        return true
    }
}
