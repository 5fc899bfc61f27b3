/// The settings of a TOML text whose values are strings or lists of strings.
///
/// A malformed line is skipped, because the program that owns the file reports the error.
struct TOMLSettings {
    struct Setting {
        /// The names of the tables, and the setting's own name.
        let path: [String]
        let strings: [String]
        let isList: Bool
    }

    /// The maximum depth of nested lists and inline tables that are read.
    private static let deepest = 16

    private let characters: [Character]
    private var position = 0
    private(set) var all: [Setting] = []

    init(_ text: String) {
        characters = Array(text)
        var table: [String] = []
        while skipBlank() {
            if take("[") {
                _ = take("[")
                if let path = path(), take("]") { table = path }
                skipLine()
            } else if !setting(in: table, depth: 0) {
                skipLine()
            }
        }
    }

    private var current: Character? { position < characters.count ? characters[position] : nil }

    /// Reads `NAME = VALUE`. Returns false if no setting begins here, or if the setting is malformed.
    private mutating func setting(in table: [String], depth: Int) -> Bool {
        guard let path = path(), take("=") else { return false }
        return value(of: table + path, depth)
    }

    /// Reads names with dots between them; nil if a name is missing.
    private mutating func path() -> [String]? {
        var path: [String] = []
        repeat {
            skipSpaces()
            guard let name = string() ?? bareName() else { return nil }
            path.append(name)
        } while take(".")
        return path
    }

    private mutating func bareName() -> String? {
        let start = position
        while let character = current, character.isLetter || character.isNumber || "-_".contains(character) {
            position += 1
        }
        return position > start ? String(characters[start..<position]) : nil
    }

    private mutating func value(of path: [String], _ depth: Int) -> Bool {
        skipSpaces()
        if let text = string() {
            all.append(Setting(path: path, strings: [text], isList: false))
            return true
        }
        guard depth < TOMLSettings.deepest else { return false }
        if take("[") { return list(of: path, depth + 1) }
        if take("{") { return table(path, depth + 1) }
        return skipWord()
    }

    private mutating func list(of path: [String], _ depth: Int) -> Bool {
        var strings: [String] = []
        while skipBlank(), !take("]") {
            if let text = string() {
                strings.append(text)
            } else {
                guard value(of: path + [""], depth) else { return false }
            }
            guard skipBlank(), take(",") || current == "]" else { return false }
        }
        all.append(Setting(path: path, strings: strings, isList: true))
        return true
    }

    private mutating func table(_ path: [String], _ depth: Int) -> Bool {
        repeat {
            _ = skipBlank()
            if take("}") { return true }
            guard setting(in: path, depth: depth) else { return false }
            _ = skipBlank()
        } while take(",")
        return take("}")
    }

    /// Reads a string in quotation marks of any kind; nil if no string begins here.
    private mutating func string() -> String? {
        guard let quote = current, quote == "\"" || quote == "'" else { return nil }
        let isLong = characters[position...].starts(with: [quote, quote, quote])
        let end = Array(repeating: quote, count: isLong ? 3 : 1)
        position += end.count
        var text = ""
        while let character = current, isLong || !character.isNewline {
            if characters[position...].starts(with: end) {
                position += end.count
                return text
            }
            position += 1
            if character == "\\", quote == "\"", let escaped = current {
                text.append(TOMLSettings.plain(escaped))
                position += 1
            } else if !(isLong && text.isEmpty && character.isNewline) {
                text.append(character)
            }
        }
        return nil
    }

    private static func plain(_ escaped: Character) -> Character {
        switch escaped {
        case "n": "\n"
        case "t": "\t"
        case "r": "\r"
        default: escaped
        }
    }

    /// Skips spaces and then `character`. Returns false, after the spaces, if another character follows them.
    private mutating func take(_ character: Character) -> Bool {
        skipSpaces()
        guard current == character else { return false }
        position += 1
        return true
    }

    private mutating func skipSpaces() {
        while let character = current, character == " " || character == "\t" { position += 1 }
    }

    /// Skips spaces, line ends and comments. Returns false at the end of the text.
    private mutating func skipBlank() -> Bool {
        while let character = current, character.isWhitespace || character == "#" {
            if character == "#" { skipLine() } else { position += 1 }
        }
        return current != nil
    }

    private mutating func skipLine() {
        while let character = current, !character.isNewline { position += 1 }
    }

    /// Skips a number, a date or a truth value. Returns false if the text at this position has no such value.
    private mutating func skipWord() -> Bool {
        let start = position
        while let character = current, !character.isNewline, !",]}#".contains(character) { position += 1 }
        return position > start
    }
}
