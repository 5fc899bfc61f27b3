import TokenKeepCore

/// The parsed command line of the program.
struct ProviderOptions: Sendable {
    var mayPrompt = true
    /// The path of the program that asks the user for the password; nil for `pinentry` in its usual folders.
    var pinentry: String?
    var passwordFile: String?
    var passwordDescriptor: Int32?
    /// A descriptor to which one byte is written once the program owns its name.
    var readyDescriptor: Int32?
    /// The command to run; nil to serve the vault.
    var command: String?
    /// The arguments of the command `run`, after `--`.
    var words: [String] = []
    var replaces = false
    var json = false
    var isDryRun = false
    var isVerbatim = false
    /// Whether the command `import` deletes the imported items of tools from the keyring.
    var removes = false
    var showsHelp = false
    var showsVersion = false

    static let help = """
        Usage: tokenkeep-secret-service [--prompt auto|none] [--pinentry PROGRAM]
                                        [--password-file FILE | --password-fd N]

        Serves the vault as org.freedesktop.secrets on the session's message bus.

          --prompt none         never ask for the password
          --pinentry PROGRAM    the program that asks; pinentry by default
          --password-file FILE  unlock with the first line of FILE
          --password-fd N       unlock with the first line of the descriptor N
          --version             print the version
          --help                print this text
        """

    private static let commands: Set<String> = [
        "run", "enable", "disable", "status", "import", "unlock-keyring", "unlock-running", "lock-running",
    ]

    /// The options that are passed to a provider started by the command `run`.
    var passedOn: [String] {
        var options: [String] = mayPrompt ? [] : ["--prompt", "none"]
        if let pinentry { options += ["--pinentry", pinentry] }
        if let passwordFile { options += ["--password-file", passwordFile] }
        if let passwordDescriptor { options += ["--password-fd", "\(passwordDescriptor)"] }
        return options
    }

    /// Parses the arguments, without the program's name.
    ///
    /// - Throws: ``Status/invalid`` for an unknown argument.
    init(_ arguments: [String]) throws(TokenKeepError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": showsHelp = true
            case "--version": showsVersion = true
            case "--prompt": mayPrompt = try ProviderOptions.prompt(ProviderOptions.value(of: argument, &rest))
            case "--pinentry": pinentry = try ProviderOptions.value(of: argument, &rest)
            case "--password-file": passwordFile = try ProviderOptions.value(of: argument, &rest)
            case "--password-fd":
                guard let number = Int32(try ProviderOptions.value(of: argument, &rest)), number >= 0 else {
                    throw TokenKeepError(.invalid, "--password-fd takes the number of a descriptor")
                }
                passwordDescriptor = number
            case "--ready-fd": readyDescriptor = Int32(try ProviderOptions.value(of: argument, &rest))
            case "--replace" where command == "enable" || command == "import": replaces = true
            case "--dry-run" where command == "import": isDryRun = true
            case "--verbatim" where command == "import": isVerbatim = true
            case "--remove" where command == "import": removes = true
            case "--json" where command == "status": json = true
            case "--" where command == "run":
                words = Array(rest)
                rest = []
            case _ where command == nil && ProviderOptions.commands.contains(argument): command = argument
            default: throw TokenKeepError(.invalid, "there is no option \(argument)", hint: "see --help")
            }
        }
        guard passwordFile == nil || passwordDescriptor == nil else {
            throw TokenKeepError(.invalid, "--password-file and --password-fd exclude each other")
        }
    }

    private static func value(of option: String, _ rest: inout ArraySlice<String>) throws(TokenKeepError) -> String {
        guard let value = rest.popFirst() else { throw TokenKeepError(.invalid, "\(option) takes a value") }
        return value
    }

    private static func prompt(_ word: String) throws(TokenKeepError) -> Bool {
        guard word == "auto" || word == "none" else { throw TokenKeepError(.invalid, "--prompt takes auto or none") }
        return word == "auto"
    }
}
