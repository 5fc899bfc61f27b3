import CSystemShims
import Glibc
package import TokenKeepCore

/// Reads a secret from the terminal without echo.
///
/// The program processes the keys for erasing itself, because the terminal's own line editing cuts a line at 4095
/// bytes, and tokens may be longer. The terminal's settings are restored before a signal ends or stops the program.
package enum HiddenInput {
    /// Prompts for one line on the process's terminal.
    ///
    /// - Throws: ``Status/cancelled`` if the user ends the input; ``Status/invalid`` for an empty line, several lines
    ///   or control characters; ``Status/locked`` if no terminal can be used.
    package static func ask(_ question: String, _ words: HiddenWords = .secret) throws(TokenKeepError) -> SecretBytes {
        let opened = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { if opened >= 0 { close(opened) } }
        let quiet: QuietTerminal
        do throws(TokenKeepError) {
            quiet = try QuietTerminal(descriptor: opened >= 0 ? opened : STDIN_FILENO)
        } catch {
            throw TokenKeepError(error.status, error.message, hint: words.otherwise)
        }
        defer { quiet.restore() }
        var line = HiddenLine(keys: quiet.keys, words)
        let buffer = try SecretBytes(count: Limits.secret + 2) { bytes throws(TokenKeepError) in
            try quiet.silence()
            quiet.write(Terminal.printable(question))
            while !line.isComplete {
                try quiet.waitForInput(question: Terminal.printable(question))
                let free = UnsafeMutableRawBufferPointer(rebasing: bytes[line.count...])
                try line.add(quiet.read(into: free), of: bytes)
            }
            guard !quiet.hasInput else { throw line.severalLines() }
        }
        return try buffer.prefix(line.count)
    }
}

extension HiddenInput {
    /// Answers the vault's prompts on the terminal while a command runs.
    package static let passwordPrompt: PromptHandler = { prompt throws(TokenKeepError) in
        if prompt.attempt > 1 { Terminal.explain("the password is wrong") }
        return try ask(prompt.message + ": ", .passwordMeanwhile)
    }
}

/// The words for the errors of a hidden prompt.
package struct HiddenWords {
    package let what: String
    /// A hint that names another way to enter the secret.
    package let otherwise: String
    /// A hint that names the way to save an empty secret; nil for no hint.
    package let empty: String?

    package static let secret = HiddenWords(
        what: "secret", otherwise: "give such a secret on standard input: tokenkeep save SERVICE ACCOUNT < FILE",
        empty: "to save an empty one: tokenkeep save SERVICE ACCOUNT --allow-empty < /dev/null")
    package static let password = HiddenWords(
        what: "password", otherwise: "give it in a file or a descriptor: --password-file FILE, --password-fd NUMBER",
        empty: nil)
    package static let passwordMeanwhile = HiddenWords(
        what: "password", otherwise: "run it on a terminal, or give the password in a file: --password-file FILE",
        empty: nil)
    package static let passphrase = HiddenWords(
        what: "passphrase", otherwise: "give it on standard input: --stdin", empty: nil)
    package static let code = HiddenWords(
        what: "recovery code", otherwise: "give it on standard input: --stdin", empty: nil)
    package static let token = HiddenWords(
        what: "token", otherwise: "give it on standard input", empty: nil)
}

/// The line that the user types. Its bytes are in the caller's guarded buffer.
struct HiddenLine {
    /// The terminal's keys for editing a line.
    struct Keys {
        let erase: UInt8
        let kill: UInt8
        let end: UInt8
    }

    /// The number of bytes in the line.
    private(set) var count = 0
    /// Whether the user has ended the line.
    private(set) var isComplete = false
    private let keys: Keys
    private let words: HiddenWords

    /// Makes an empty line.
    init(keys: Keys, _ words: HiddenWords = .secret) {
        self.keys = keys
        self.words = words
    }

    /// Processes the `received` bytes after the line in `bytes`.
    ///
    /// - Throws: ``Status/cancelled`` if the user ends the input before any text; ``Status/invalid`` for an empty or
    ///   too long line, a second line or a control character.
    mutating func add(_ received: Int, of bytes: UnsafeMutableRawBufferPointer) throws(TokenKeepError) {
        let typed = count..<count + received
        for index in typed {
            guard !isComplete else { throw severalLines() }
            switch bytes[index] {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): isComplete = true
            case keys.end:
                guard count > 0 else { throw TokenKeepError(.cancelled, "no \(words.what) was entered") }
                isComplete = true
            case keys.kill: count = 0
            case keys.erase, 0x08, 0x7F: erase(in: bytes)
            case 0..<0x20:
                throw TokenKeepError(
                    .invalid, "the \(words.what) holds a control character, which cannot be typed",
                    hint: words.otherwise)
            case let byte:
                bytes[count] = byte
                count += 1
            }
        }
        guard count <= Limits.secret else { throw SecretInput.tooLong() }
        guard !isComplete || count > 0 else {
            throw TokenKeepError(.invalid, "no \(words.what) was entered", hint: words.empty)
        }
    }

    /// The error for a secret with several lines.
    ///
    /// Such a secret is refused, because this program would read only its first line from the terminal, and the shell
    /// would then execute the other lines as commands.
    func severalLines() -> TokenKeepError {
        TokenKeepError(.invalid, "the \(words.what) has more than one line", hint: words.otherwise)
    }

    /// Removes the last character, with all bytes of its UTF-8 sequence.
    private mutating func erase(in bytes: UnsafeMutableRawBufferPointer) {
        while count > 0 {
            count -= 1
            if bytes[count] & 0xC0 != 0x80 { return }
        }
    }
}
