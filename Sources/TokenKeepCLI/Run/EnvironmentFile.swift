import Glibc
import TokenKeepCore

/// A file of environment variables: `NAME=VALUE` on each line. Empty lines and lines that begin with `#` are ignored.
///
/// A value in single or double quotes is the text between the quotes, unchanged.
enum EnvironmentFile {
    /// Reads the variables of a file, in order.
    ///
    /// - Parameter deadline: the time at which the wait for the writer of a pipe ends.
    /// - Throws: ``Status/invalid`` if a line has another form. The error contains the line's number, and nothing of
    ///   its text.
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
        for (number, line) in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            guard let variable = variable(Substring(line)) else {
                throw TokenKeepError(
                    .invalid, "line \(number + 1) of \(subject) is not NAME=VALUE",
                    hint: "a name has letters, digits and _; a comment begins with #")
            }
            variables.append(variable)
        }
        return variables
    }

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

    /// Whether a text is the name of a variable that every shell can use.
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
