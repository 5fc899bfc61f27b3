import Glibc
import TokenKeepCore

/// A file of variables with one line `NAME=VALUE` for each variable. Empty lines and lines that begin with `#` are
/// ignored.
///
/// If a value is enclosed in single or double quotes, the text between the quotes is used unchanged. A byte order mark
/// and white space before a name are ignored, as docker ignores them. `export NAME=VALUE` is accepted, as by programs
/// with dotenv, and so is `NAME = VALUE`, from which the white space around the sign is removed.
enum EnvironmentFile {
    /// Reads the variables of a file, in order.
    ///
    /// - Parameter deadline: the end of the wait for the writer of a pipe.
    /// - Throws: ``Status/invalid`` if a line has another form, or if the file is too long or not UTF-8;
    ///   ``Status/timedOut`` if the deadline passes; the status of the error number if the file cannot be read. The
    ///   error contains a line's number, but not its text.
    static func read(
        _ path: String, until deadline: Deadline
    ) throws(TokenKeepError) -> [(name: String, value: String)] {
        let subject = "the file of variables \(path)"
        let descriptor = SecretInput.open(path)
        guard descriptor >= 0 else {
            let error = errno
            throw TokenKeepError(
                .ofNamedFile(errno: error), "\(subject) cannot be opened: \(Terminal.describe(errno: error))")
        }
        defer { close(descriptor) }
        let content = try SecretInput.readToEnd(
            of: descriptor, named: subject, tooLong: TokenKeepError(.invalid, "\(subject) is longer than 1 MiB"),
            until: deadline)
        guard let text = content.utf8String else { throw TokenKeepError(.invalid, "\(subject) is not UTF-8") }
        var variables: [(name: String, value: String)] = []
        let lines = text.utf8.dropFirst(ByteOrderMark.length(of: text.utf8))
        for (number, line) in lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            let line = (line.last == UInt8(ascii: "\r") ? line.dropLast() : line).drop(while: isSpace)
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            guard let variable = variable(plain(Substring(line))) else {
                throw TokenKeepError(
                    .invalid, "line \(number + 1) of \(subject) is not NAME=VALUE",
                    hint: "a name has letters, digits and _; a comment begins with #")
            }
            variables.append(variable)
        }
        return variables
    }

    /// Returns the line as `NAME=VALUE`, without `export` and without the white space around the sign.
    ///
    /// If white space is only after the sign, it belongs to the value, as in docker's files.
    private static func plain(_ line: Substring) -> Substring {
        var line = line
        let word = "export"
        let rest = line.utf8.dropFirst(word.utf8.count)
        if line.utf8.starts(with: word.utf8), rest.first.map(isSpace) == true {
            line = Substring(rest.drop(while: isSpace))
        }
        guard let sign = line.utf8.firstIndex(of: UInt8(ascii: "=")) else { return line }
        let name = line.utf8[..<sign].prefix { !isSpace($0) }
        let gap = line.utf8[name.endIndex..<sign]
        guard !gap.isEmpty, gap.allSatisfy(isSpace) else { return line }
        return Substring(
            "\(Substring(name))=\(Substring(line.utf8[line.utf8.index(after: sign)...].drop(while: isSpace)))")
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Splits `NAME=VALUE` into its two parts; nil for any other text.
    static func variable(_ text: Substring) -> (name: String, value: String)? {
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let name = text[..<sign]
        var value = text[text.index(after: sign)...]
        guard isName(name), !value.utf8.contains(0) else { return nil }
        if let quote = value.utf8.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
            value.utf8.count > 1,
            value.utf8.last == quote
        {
            value = value.dropFirst().dropLast()
        }
        return (String(name), String(value))
    }

    /// Whether a text is a valid name of a variable in every shell.
    static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
