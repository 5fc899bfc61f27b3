import CSystemShims
import Glibc
import TokenKeepCore

/// Asks for a secret on the terminal, without showing it.
///
/// The line is edited here: a terminal that edits cuts a line at 4095 bytes, and tokens are longer. A signal that ends or
/// stops the program first finds the terminal as it was.
enum HiddenInput {
    /// Asks for one line on the process's terminal.
    ///
    /// - Throws: ``Status/cancelled`` where the user ends the input, ``Status/invalid`` for an empty line, several lines
    ///   or control characters, ``Status/io`` where the terminal cannot be used.
    static func ask(_ question: String, _ words: HiddenWords = .secret) throws(TokenKeepError) -> SecretBytes {
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

/// What is asked for, in the errors of a line that is none.
struct HiddenWords {
    let what: String
    /// How else it can be given.
    let otherwise: String
    /// How an empty one can be given.
    let empty: String?

    static let secret = HiddenWords(
        what: "secret", otherwise: "give such a secret on standard input: tokenkeep save SERVICE ACCOUNT < FILE",
        empty: "to save an empty one: tokenkeep save SERVICE ACCOUNT --allow-empty < /dev/null")
    static let password = HiddenWords(what: "password", otherwise: "give it on standard input: --stdin", empty: nil)
    static let passwordMeanwhile = HiddenWords(
        what: "password", otherwise: "run it on a terminal, or unlock the vault before: tokenkeep unlock --stdin",
        empty: nil)
    static let passphrase = HiddenWords(what: "passphrase", otherwise: "give it on standard input: --stdin", empty: nil)
    static let code = HiddenWords(what: "recovery code", otherwise: "give it on standard input: --stdin", empty: nil)
}

/// The line while it is typed. Its bytes lie in the caller's guarded buffer.
struct HiddenLine {
    /// The keys that edit a line, as the terminal is set.
    struct Keys {
        let erase: UInt8
        let kill: UInt8
        let end: UInt8
    }

    /// How many bytes the line has.
    private(set) var count = 0
    /// Whether its end was typed.
    private(set) var isComplete = false
    private let keys: Keys
    private let words: HiddenWords

    /// A line that nothing was typed into.
    init(keys: Keys, _ words: HiddenWords = .secret) {
        self.keys = keys
        self.words = words
    }

    /// Takes `received` bytes that stand behind the line in `bytes`.
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

    /// The error for what a terminal cannot give: the lines after the first would go to the shell.
    func severalLines() -> TokenKeepError {
        TokenKeepError(.invalid, "the \(words.what) has more than one line", hint: words.otherwise)
    }

    /// Removes the last character: a UTF-8 sequence goes whole.
    private mutating func erase(in bytes: UnsafeMutableRawBufferPointer) {
        while count > 0 {
            count -= 1
            if bytes[count] & 0xC0 != 0x80 { return }
        }
    }
}
