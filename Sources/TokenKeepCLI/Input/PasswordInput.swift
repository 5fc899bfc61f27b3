import Glibc
import TokenKeepCore

/// Reads passwords and recovery codes from the terminal or from lines of standard input.
enum PasswordInput {
    /// Reads exactly `count` lines from standard input; the last line may lack its newline.
    static func lines(_ count: Int) throws(TokenKeepError) -> [SecretBytes] {
        let input = try SecretInput.readToEnd(
            of: STDIN_FILENO, tooLong: TokenKeepError(.invalid, "standard input holds more than any password has"))
        let lines: [SecretBytes] = try input.withUnsafeBytes { bytes throws(TokenKeepError) in
            var lines: [SecretBytes] = []
            let text = try PasswordLine.text(bytes, of: "standard input")
            var parts = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            if parts.last?.isEmpty == true { parts.removeLast() }
            guard parts.count == count else {
                throw TokenKeepError(
                    .invalid,
                    "standard input has \(CountedNouns.lines(parts.count)) where \(CountedNouns.lines(count)) must be")
            }
            for part in parts { lines.append(try PasswordLine.password(part, of: "standard input")) }
            return lines
        }
        return lines
    }

    /// Reads a password from standard input if `inInput` is true, otherwise from `source`. If `source` is nil, calls
    /// `ask`, which prompts the user.
    ///
    /// - Parameter limit: the time limit for the writer of a pipe, in milliseconds; nil for two minutes.
    static func line(
        inInput: Bool, or source: PasswordSource? = nil, within limit: UInt32? = nil,
        orAsk ask: () throws(TokenKeepError) -> SecretBytes
    ) throws(TokenKeepError) -> SecretBytes {
        if inInput { return try lines(1)[0] }
        if let source { return try source.read(within: limit) }
        return try ask()
    }

    /// Prompts the user for the vault's password.
    static func password() throws(TokenKeepError) -> SecretBytes { try password("password of the vault: ") }

    /// Prompts the user for a password of the vault with the given question.
    static func password(_ question: String) throws(TokenKeepError) -> SecretBytes {
        try HiddenInput.ask(question, .password)
    }

    /// Reads a new password from a line of standard input or from `source`. If neither is given, the user types the
    /// password twice.
    ///
    /// Also explains the risk of a weak password.
    static func newPassword(
        inInput: Bool = false, or source: PasswordSource? = nil, within limit: UInt32? = nil
    ) throws(TokenKeepError) -> SecretBytes {
        guard inInput || source != nil else {
            explainWeakness()
            return try twice("new password of the vault: ", .password)
        }
        let password = try line(inInput: inInput, or: source, within: limit, orAsk: password)
        explainRisks(of: password)
        return password
    }

    /// Explains the risks of a new password that a file or standard input has given.
    static func explainRisks(of password: SecretBytes) {
        explainWeakness()
        explainInvisible(in: password)
    }

    /// Warns about bytes of a given password that its file does not show, and that a person who types it leaves out.
    private static func explainInvisible(in password: SecretBytes) {
        var (hasSpaces, hasControls) = (false, false)
        password.withUnsafeBytes { bytes in
            for byte in [bytes.first, bytes.last] where byte == 0x20 || byte == 0x09 { hasSpaces = true }
            for byte in bytes where byte != 0x09 && (byte < 0x20 || byte == 0x7F) { hasControls = true }
        }
        if hasSpaces { Terminal.explain("the password begins or ends with white space, which belongs to it") }
        if hasControls { Terminal.explain("the password has a control character, which no keyboard enters") }
    }

    /// Explains the risk of a weak password, once for each new password.
    private static func explainWeakness() {
        Terminal.explain(
            "who has the disk or a backup can try as many passwords as he likes: a short or common one is found")
    }

    /// Prompts the user for the passphrase of an existing export.
    static func passphrase() throws(TokenKeepError) -> SecretBytes {
        try HiddenInput.ask("passphrase of the export: ", .passphrase)
    }

    /// Reads the passphrase of a new export from a line of standard input. If `inInput` is false, the user types the
    /// passphrase twice.
    ///
    /// Also explains the risk of a weak passphrase.
    static func newPassphrase(inInput: Bool) throws(TokenKeepError) -> SecretBytes {
        let given = inInput ? try lines(1)[0] : nil
        Terminal.explain(
            "who has the file can try as many passphrases as he likes: a short or common one is found")
        if let given { return given }
        return try twice("passphrase of the export: ", .passphrase)
    }

    private static func twice(_ question: String, _ words: HiddenWords) throws(TokenKeepError) -> SecretBytes {
        let first = try HiddenInput.ask(question, words)
        guard try HiddenInput.ask("once more: ", words) == first else {
            throw TokenKeepError(.invalid, "the two \(words.what)s differ", hint: "nothing was changed; try again")
        }
        return first
    }

    /// The handler of the vault's prompts while a command runs.
    static let handler: PromptHandler = HiddenInput.passwordPrompt
}
