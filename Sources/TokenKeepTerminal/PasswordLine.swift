package import TokenKeepCore

/// A line of a file or of standard input that holds a password, as the user meant it.
///
/// Editors and shells of Windows put a byte order mark before the text, and a carriage return before each line feed: these
/// bytes are no part of the password.
package enum PasswordLine {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let wideMarks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]

    /// The text after its byte order mark.
    ///
    /// - Parameter name: the source's name, for errors.
    /// - Throws: ``Status/invalid`` for UTF-16.
    package static func text(
        _ bytes: UnsafeRawBufferPointer, of name: String
    ) throws(TokenKeepError) -> Slice<UnsafeRawBufferPointer> {
        guard !wideMarks.contains(where: { bytes.starts(with: $0) }) else {
            throw TokenKeepError(.invalid, "\(name) is in UTF-16", hint: "write it in UTF-8, as -Encoding utf8 does")
        }
        return bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes[...]
    }

    /// A copy of a line without the carriage return at its end.
    ///
    /// - Throws: ``Status/invalid`` if a carriage return is in the middle, where no keyboard puts it.
    package static func password(
        _ line: Slice<UnsafeRawBufferPointer>, of name: String
    ) throws(TokenKeepError) -> SecretBytes {
        let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        guard !line.contains(UInt8(ascii: "\r")) else {
            throw TokenKeepError(
                .invalid, "\(name) has a carriage return in the password", hint: "end its lines with a line feed")
        }
        return try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: line))
    }
}
