import TokenKeepCore
import TokenKeepTerminal

/// Reads `~/.git-credentials`: each line is a web address with username and password.
enum GitCredentialsReader {
    static func read(_ bytes: UnsafeRawBufferPointer) -> ForeignEntries {
        var found = ForeignEntries()
        for line in ForeignLine.all(in: bytes) where !line.content.isEmpty && line.content.first != UInt8(ascii: "#") {
            found.add(at: line.place) { () throws(TokenKeepError) in try entry(line) }
        }
        return found
    }

    private static func entry(_ line: ForeignLine) throws(TokenKeepError) -> ForeignEntry {
        let content = line.content
        guard let colon = content.firstIndex(of: UInt8(ascii: ":")),
            content[colon...].starts(with: "://".utf8), colon > content.startIndex,
            content[..<colon].allSatisfy(isSchemeByte)
        else { throw malformed }
        let rest = content[(colon + 3)...]
        let hostEnd = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
        guard let at = rest[..<hostEnd].lastIndex(of: UInt8(ascii: "@")),
            let separator = rest[..<at].firstIndex(of: UInt8(ascii: ":")), at + 1 < hostEnd || hostEnd < rest.endIndex
        else { throw malformed }
        let username = try decodedName(rest[..<separator])
        let host = try decodedName(rest[(at + 1)..<hostEnd])
        // Remove the slashes at both ends of the path, as git does.
        var path = try decodedName(rest[hostEnd...].drop { $0 == UInt8(ascii: "/") })
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        let scheme = try ForeignText.name(ForeignText.secret(content[..<colon]))
        let secret = try decoded(rest[(separator + 1)..<at])
        guard !secret.withUnsafeBytes({ $0.contains(UInt8(ascii: "\n")) }) else {
            throw TokenKeepError(.corrupt, "the password has a line feed, which git refuses")
        }
        var entry = ForeignEntry(
            name: try ItemName(service: "git:\(scheme)://\(host)\(path.isEmpty ? "" : "/\(path)")", account: username),
            secret: secret, place: line.place, range: line.range)
        if !path.isEmpty, ["http", "https"].contains(scheme) {
            entry.remark = (
                text:
                    "git asks for an item with a path only if credential.useHttpPath is set, and then for no item without a path",
                hint: "git config --global \(ShellWord.quoted("credential.\(scheme)://\(host).useHttpPath")) true"
            )
            entry.rest = "its line: git asks for the host without the path"
        }
        return entry
    }

    private static func decodedName(_ bytes: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> String {
        try ForeignText.name(decoded(bytes))
    }

    /// Decodes percent escapes as git does: a malformed escape, an escape of NUL and all bytes before a colon are literal.
    private static func decoded(_ bytes: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes {
        let colon = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.startIndex
        return try SecretBytes(capacity: bytes.count) { buffer in
            var (count, index) = (0, bytes.startIndex)
            while index < bytes.endIndex {
                var byte = bytes[index]
                if byte == UInt8(ascii: "%"), index >= colon {
                    var escape = bytes[(index + 1)...].prefix(2)
                    if let decoded = HexadecimalDigit.takeByte(from: &escape), decoded != 0 {
                        byte = decoded
                        index += 2
                    }
                }
                buffer[count] = byte
                count += 1
                index += 1
            }
            return count
        }
    }

    /// Whether a scheme may contain this byte.
    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private static let malformed = TokenKeepError(.corrupt, "this is no address with username and password")
}

/// Reads `~/.netrc`, which consists of words on any number of lines. The word `machine` or `default` begins an entry.
struct NetrcReader {
    private struct Word {
        let range: Range<Int>
        let line: Int
        let content: Slice<UnsafeRawBufferPointer>

        func means(_ text: StaticString) -> Bool {
            content.elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }
    }

    private let bytes: UnsafeRawBufferPointer
    private var words: [Word] = []
    /// The offsets of the word `macdef`, which begins a macro.
    private var macros: [Int] = []

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        words = NetrcReader.words(of: bytes, &macros)
    }

    func read() throws(TokenKeepError) -> ForeignEntries {
        var found = ForeignEntries()
        var index = 0
        while index < words.count {
            let first = words[index]
            let place = "line \(first.line)"
            guard first.means("machine") || first.means("default") else {
                found.refuse(place, "no entry begins here")
                index = nextEntry(after: index)
                continue
            }
            let end = nextEntry(after: index)
            let fields = Array(words[(index + 1)..<end])
            // The entry's range ends with the line of its last word, so macros and comments after that line are not
            // removed with the entry.
            let lastLine = lineEnd(words[end - 1].range.upperBound)
            let range =
                first.range.lowerBound..<(end < words.count ? min(lastLine, words[end].range.lowerBound) : lastLine)
            if first.means("default") {
                found.refuse(place, "an entry for all machines has no name")
            } else {
                // A macro belongs to the entry before the macro. If that entry were removed, the macro would belong to the
                // preceding entry, so an entry with a macro stays in the source.
                let nextEntry = end < words.count ? words[end].range.lowerBound : bytes.count
                let hasMacro = macros.contains { range.lowerBound..<nextEntry ~= $0 }
                found.add(at: place) { () throws(TokenKeepError) in
                    var entry = try entry(fields, place, range)
                    if hasMacro { entry.rest = entry.rest ?? "the macro" }
                    return entry
                }
            }
            index = end
        }
        return found
    }

    private func entry(_ fields: [Word], _ place: String, _ range: Range<Int>) throws(TokenKeepError) -> ForeignEntry {
        guard let machine = fields.first else { throw TokenKeepError(.corrupt, "the machine has no name") }
        let host = try ForeignText.name(NetrcReader.unquoted(machine.content))
        var (login, secret, rest) = ("", SecretBytes?.none, String?.none)
        var index = 1
        while index < fields.count {
            let field = fields[index]
            guard index + 1 < fields.count else { throw TokenKeepError(.corrupt, "a word has no value") }
            let value = fields[index + 1].content
            if field.means("login") {
                login = try ForeignText.name(NetrcReader.unquoted(value))
            } else if field.means("password") {
                secret = try NetrcReader.unquoted(value)
            } else if field.means("account") {
                rest = "the account"
            } else if field.means("port") {
                // Emacs writes a port, often the name of a protocol, into each entry of ~/.authinfo. The item has only
                // the host, so the port is a part that the item cannot contain.
                rest = "the port"
            } else {
                throw TokenKeepError(.corrupt, "a word is unknown")
            }
            index += 2
        }
        guard let secret else { throw TokenKeepError(.corrupt, "the machine has no password") }
        return ForeignEntry(
            name: try ItemName(service: host, account: login), secret: secret, place: place, range: range, rest: rest)
    }

    /// Whether at least one entry has a password that is not empty.
    var hasPassword: Bool {
        var index = 0
        while index + 1 < words.count {
            let value = words[index + 1].content
            if words[index].means("password"), !value.allSatisfy({ $0 == UInt8(ascii: "\"") }) { return true }
            index += NetrcReader.hasValue(words[index]) ? 2 : 1
        }
        return false
    }

    /// Returns the index of the word that begins the entry after the word at `index`; the number of words if there is
    /// no such entry.
    private func nextEntry(after index: Int) -> Int {
        // Skip the values of words, because a value never begins an entry.
        var next = index + (words[index].means("machine") ? 2 : 1)
        while next < words.count {
            if words[next].means("machine") || words[next].means("default") { return next }
            next += NetrcReader.hasValue(words[next]) ? 2 : 1
        }
        return words.count
    }

    /// Whether the word after this one is its value.
    private static func hasValue(_ word: Word) -> Bool {
        ["machine", "login", "password", "account", "port"].contains { (name: StaticString) in word.means(name) }
    }

    private func lineEnd(_ position: Int) -> Int {
        (bytes[position...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count - 1) + 1
    }

    /// Splits the text into words. Skips comments and macros, which end at the next empty line. Appends the offset of
    /// each macro to `macros`.
    private static func words(of bytes: UnsafeRawBufferPointer, _ macros: inout [Int]) -> [Word] {
        var words: [Word] = []
        var isMacro = false
        // A secret may begin with `#`, and may be on the line after the word `password`.
        var isValue = false
        for line in ForeignLine.all(in: bytes) {
            if line.content.allSatisfy(isSpace) { isMacro = false }
            var rest = line.content
            while !isMacro {
                rest = rest.drop(while: isSpace)
                guard let first = rest.first, isValue || first != UInt8(ascii: "#") else { break }
                let end = wordEnd(rest, isQuoted: first == UInt8(ascii: "\""))
                // The first word's range includes a byte order mark, so that both are removed together. Otherwise,
                // readers would take the mark as a part of the next entry.
                let start = rest.startIndex == line.content.startIndex ? line.range.lowerBound : rest.startIndex
                let word = Word(range: start..<end, line: line.number, content: rest[..<end])
                isMacro = !isValue && word.means("macdef")
                if isMacro { macros.append(word.range.lowerBound) } else { words.append(word) }
                isValue = !isValue && hasValue(word)
                rest = rest[end...]
            }
        }
        return words
    }

    private static func wordEnd(_ rest: Slice<UnsafeRawBufferPointer>, isQuoted: Bool) -> Int {
        guard isQuoted else { return rest.firstIndex(where: isSpace) ?? rest.endIndex }
        var isEscaped = false
        for index in rest.indices.dropFirst() {
            if isEscaped {
                isEscaped = false
            } else if rest[index] == UInt8(ascii: "\\") {
                isEscaped = true
            } else if rest[index] == UInt8(ascii: "\"") {
                return index + 1
            }
        }
        return rest.endIndex
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private static func unquoted(_ bytes: Slice<UnsafeRawBufferPointer>) throws(TokenKeepError) -> SecretBytes {
        guard bytes.first == UInt8(ascii: "\"") else { return try ForeignText.secret(bytes) }
        guard bytes.count > 1, bytes.last == UInt8(ascii: "\"") else {
            throw TokenKeepError(.corrupt, "a quotation does not end")
        }
        return try SecretBytes(capacity: bytes.count) { buffer throws(TokenKeepError) in
            var (count, isEscaped) = (0, false)
            for byte in bytes.dropFirst().dropLast() {
                if byte == UInt8(ascii: "\\"), !isEscaped {
                    isEscaped = true
                    continue
                }
                isEscaped = false
                buffer[count] = byte
                count += 1
            }
            return count
        }
    }
}

/// Reads the file of keyrings.alt's PlaintextKeyring: a section for each service, with a base64 password for each username.
enum PythonKeyringReader {
    static func read(_ bytes: UnsafeRawBufferPointer) throws(TokenKeepError) -> ForeignEntries {
        let lines = ForeignLine.all(in: bytes)
        var found = ForeignEntries()
        var service: String?
        var index = 0
        while index < lines.count {
            let line = lines[index]
            var end = index + 1
            while end < lines.count, lines[end].content.first == 0x20 || lines[end].content.first == 0x09 { end += 1 }
            let more = lines[(index + 1)..<end]
            index = end
            guard let first = line.content.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else {
                continue
            }
            if first == UInt8(ascii: "[") {
                guard line.content.last == UInt8(ascii: "]") else {
                    throw ForeignFormat.foreign("\(line.place) is no section")
                }
                service = try? ForeignText.name(
                    ForeignText.escaped(line.content.dropFirst().dropLast(), by: UInt8(ascii: "_")))
                continue
            }
            found.add(at: line.place) { () throws(TokenKeepError) in
                guard let service, let sign = line.content.firstIndex(of: UInt8(ascii: "=")) else {
                    throw TokenKeepError(.corrupt, "this is no username with a password")
                }
                var name = line.content[..<sign]
                while let last = name.last, last <= 0x20 { name = name.dropLast() }
                let username = try ForeignText.name(ForeignText.escaped(name, by: UInt8(ascii: "_")))
                let parts = [line.content[(sign + 1)...]] + more.map(\.content)
                return ForeignEntry(
                    name: try ItemName(service: service, account: username),
                    secret: try ForeignText.base64(parts.joined(), count: parts.reduce(0) { $0 + $1.count }),
                    place: line.place, range: line.range.lowerBound..<(more.last ?? line).range.upperBound)
            }
        }
        return found
    }
}
