import Glibc
import TokenKeepCore

/// Reads git's configuration from files and from the environment, in which git passes the settings of its command line.
enum GitSettings {
    /// Whether prompts are allowed; false if `GIT_TERMINAL_PROMPT` is 0, and in git's background maintenance.
    static var mayPrompt: Bool {
        if let terminal = text("GIT_TERMINAL_PROMPT"), isFalse(terminal) { return false }
        return !isQuiet
    }

    /// Whether nothing may be written to the terminal, because `credential.interactive` is false, as in git's
    /// background maintenance.
    ///
    /// If the environment does not contain the setting, git is started to read its files. To save that time, only a
    /// helper that may prompt, or that fails, queries this property.
    static var isQuiet: Bool { isFalse(lastValue ?? configured ?? "true") }

    /// The value of `credential.interactive` in files; nil if it is not set.
    private static let configured: String? = GitConfiguration.value("^credential\\.interactive$")

    /// The last value of `credential.interactive` in the environment; "true" if the key has no value; nil if it is not
    /// set.
    private static var lastValue: String? {
        var found: String?
        for (key, value) in parameters + counted where key.lowercased() == "credential.interactive" { found = value }
        return found
    }

    private static func isFalse(_ value: String) -> Bool {
        ["false", "no", "off", "0", "never", ""].contains(value.lowercased())
    }

    private static func text(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// The settings in `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_0`, `GIT_CONFIG_VALUE_0` and so on.
    private static var counted: [(String, String)] {
        guard let count = text("GIT_CONFIG_COUNT").flatMap({ Int($0) }), 0...10_000 ~= count else { return [] }
        return (0..<count).compactMap { index in
            guard let key = text("GIT_CONFIG_KEY_\(index)"), let value = text("GIT_CONFIG_VALUE_\(index)") else {
                return nil
            }
            return (key, value)
        }
    }

    /// The settings in `GIT_CONFIG_PARAMETERS`: `'KEY'='VALUE'`, before git 2.31 `'KEY=VALUE'`.
    private static var parameters: [(String, String)] {
        guard let text = text("GIT_CONFIG_PARAMETERS") else { return [] }
        return words(of: text).map { word in
            guard let equals = word.firstIndex(of: "=") else { return (word, "true") }
            return (String(word[..<equals]), String(word[word.index(after: equals)...]))
        }
    }

    /// Splits a text into words, as a shell does with single quotes and backslashes, and removes the quotes.
    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var isQuoted = false
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped {
                word.append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "'") {
                isQuoted.toggle()
            } else if !isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if !isQuoted, byte == UInt8(ascii: " ") {
                words.append(String(decoding: word, as: UTF8.self))
                word = []
            } else {
                word.append(byte)
            }
        }
        return words + [String(decoding: word, as: UTF8.self)]
    }
}
