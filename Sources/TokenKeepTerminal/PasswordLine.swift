package import TokenKeepCore

/// Extracts the password from a line of a file or of standard input.
///
/// Editors and shells on Windows put a byte order mark before the text and a carriage return before each line feed.
/// These bytes are not part of the password.
package enum PasswordLine {
    /// Returns the text without a byte order mark at its beginning.
    ///
    /// - Parameter name: the name of the source, for errors.
    /// - Throws: ``Status/invalid`` if the text is UTF-16.
    package static func text(
        _ bytes: UnsafeRawBufferPointer, of name: String
    ) throws(TokenKeepError) -> Slice<UnsafeRawBufferPointer> {
        guard !ByteOrderMark.isUTF16(bytes) else {
            throw TokenKeepError(.invalid, "\(name) is in UTF-16", hint: "write it in UTF-8, as -Encoding utf8 does")
        }
        return bytes.dropFirst(ByteOrderMark.length(of: bytes))
    }

    /// Copies a line, without a carriage return at its end, into guarded memory.
    ///
    /// - Throws: ``Status/invalid`` if the line has a carriage return elsewhere, because no keyboard enters one.
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
