/// The credential providers in cargo's configuration file.
struct CargoProviders {
    private static let key = "global-credential-providers"

    /// The providers in the order of the file. cargo queries the last provider first.
    let list: [String]

    /// Parses the list in the table `[registry]`; nil if the text has no such list.
    init?(in text: String) {
        var table = ""
        for statement in CargoProviders.statements(of: text) {
            if statement.first == "[" {
                table = CargoProviders.plain(statement).filter { $0 != "[" && $0 != "]" }
                continue
            }
            guard let sign = statement.firstIndex(of: "=") else { continue }
            let name = (table.isEmpty ? "" : "\(table).") + CargoProviders.plain(statement[..<sign])
            var value = statement[statement.index(after: sign)...]
            if name == "registry" {
                // Here `registry` is an inline table.
                guard let inside = value.firstRange(of: CargoProviders.key) else { continue }
                value = value[inside.upperBound...].prefix { $0 != "]" }
            } else if name != "registry.\(CargoProviders.key)" {
                continue
            }
            list = CargoProviders.strings(in: value)
            return
        }
        return nil
    }

    /// Splits the text into statements without comments: table headers, and settings, whose lists may span several lines.
    private static func statements(of text: String) -> [String] {
        var statements: [String] = []
        var (statement, depth, isComment) = ("", 0, false)
        var quote: Character?
        for character in text {
            if character.isNewline {
                (quote, isComment) = (nil, false)
                if depth > 0 {
                    statement.append(" ")
                } else {
                    statements.append(statement)
                    statement = ""
                }
                continue
            }
            if isComment || (quote == nil && character == "#") {
                isComment = true
                continue
            }
            if quote == nil, character == "\"" || character == "'" {
                quote = character
            } else if character == quote {
                quote = nil
            } else if quote == nil {
                depth += character == "[" ? 1 : character == "]" ? -1 : 0
            }
            if !statement.isEmpty || !character.isWhitespace { statement.append(character) }
        }
        return statements + [statement]
    }

    private static func plain(_ text: some StringProtocol) -> String {
        String(text.filter { !$0.isWhitespace && $0 != "\"" && $0 != "'" })
    }

    /// The texts between quotation marks in `value`.
    private static func strings(in value: Substring) -> [String] {
        var (strings, rest) = ([String](), value)
        while let start = rest.firstIndex(where: { $0 == "\"" || $0 == "'" }) {
            let behind = rest[rest.index(after: start)...]
            guard let end = behind.firstIndex(of: rest[start]) else { break }
            strings.append(String(behind[..<end]))
            rest = behind[behind.index(after: end)...]
        }
        return strings
    }
}
