import TokenKeepCore
import TokenKeepEngine
import TokenKeepTerminal

/// The command line: options, followed by the operation and its arguments.
struct Invocation {
    private var configuration = StoreConfiguration()
    private var password: PasswordSource?
    /// Whether git must query neither other helpers nor its user while a module is locked.
    private(set) var quitsWhenLocked = false
    private var words: ArraySlice<String>

    /// Whether the store may prompt the user: `--interactive` is given, and the protocol's caller allows prompts.
    var mayPrompt: Bool {
        get { configuration.isInteractive }
        set { configuration.isInteractive = newValue }
    }

    /// Reads the options before the first word that is not an option.
    ///
    /// - Throws: ``Status/invalid`` for an unknown option or a wrong value.
    init(arguments: [String]) throws(TokenKeepError) {
        words = arguments[...]
        try readOptions()
    }

    /// Reads options that the protocol's caller passes in its request instead of the command line.
    mutating func read(options: [String]) throws(TokenKeepError) {
        let rest = words
        words = options[...]
        try readOptions()
        guard words.isEmpty else { throw TokenKeepError(.invalid, "an argument is no option") }
        words = rest
    }

    /// Returns the next argument, and reads the options after it. Returns nil after the last argument.
    mutating func nextWord() throws(TokenKeepError) -> String? {
        guard let word = words.popFirst() else { return nil }
        try readOptions()
        return word
    }

    /// Returns the next argument. Throws ``Status/invalid`` if there is none.
    mutating func requiredWord(_ what: String) throws(TokenKeepError) -> String {
        guard let word = try nextWord() else { throw TokenKeepError(.invalid, "\(what) is missing") }
        return word
    }

    /// Opens the store with the options of the command line. Calls no module.
    ///
    /// - Parameter namespace: the namespace that a request names; nil for the namespace in the options.
    func store(namespace: String? = nil) throws(TokenKeepError) -> Store {
        var configuration = configuration
        if let namespace { configuration.namespace = namespace }
        configuration.prompt = HiddenInput.passwordPrompt
        if let source = password ?? PasswordSource.fromEnvironment() {
            let limit = configuration.timeoutMilliseconds == 0 ? nil : configuration.timeoutMilliseconds
            configuration.password = { () throws(TokenKeepError) in try source.read(within: limit) }
        }
        return try Store(configuration)
    }

    /// The time limit, in milliseconds, for a call to a server; nil for the default limit.
    var timeoutMilliseconds: UInt32? {
        configuration.timeoutMilliseconds == 0 ? nil : configuration.timeoutMilliseconds
    }

    private mutating func readOptions() throws(TokenKeepError) {
        while let word = words.first, word.hasPrefix("-"), word != "-" {
            words.removeFirst()
            if word == "--" { return }
            let parts = word.split(separator: "=" as Character, maxSplits: 1, omittingEmptySubsequences: false)
            try readOption(String(parts[0]), value: parts.count == 2 ? String(parts[1]) : nil)
        }
    }

    private mutating func readOption(_ name: String, value: String?) throws(TokenKeepError) {
        switch name {
        case "--interactive": configuration.isInteractive = true
        case "--quit-when-locked": quitsWhenLocked = true
        // cargo starts every provider with this option, which has no effect here.
        case "--cargo-plugin": break
        default:
            guard ["--namespace", "--stack", "--timeout", "--password-file", "--password-fd"].contains(name) else {
                throw TokenKeepError(
                    .invalid, "there is no option \(name)",
                    hint: "the options are --namespace, --stack, --timeout, --interactive, --password-file, "
                        + "--password-fd, --quit-when-locked")
            }
            guard let value = value ?? words.popFirst() else {
                throw TokenKeepError(.invalid, "the option \(name) has no value")
            }
            try readOption(name, value)
        }
    }

    private mutating func readOption(_ name: String, _ value: String) throws(TokenKeepError) {
        switch name {
        case "--namespace": configuration.namespace = value
        case "--stack":
            // The name of a stack contains no white space; the text of a stack does.
            let isText = value.contains(where: \.isWhitespace)
            (configuration.stack, configuration.stackText) = isText ? (nil, value) : (value, nil)
        case "--timeout": configuration.timeoutMilliseconds = try Durations.timeout(value)
        case "--password-file": password = .file(value, named: "the password file")
        default:
            guard let number = Int32(value), number >= 0 else {
                throw TokenKeepError(.invalid, "--password-fd is not the number of a descriptor")
            }
            password = .descriptor(number)
        }
    }
}
