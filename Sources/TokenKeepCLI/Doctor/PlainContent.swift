import TokenKeepCore

/// The format of a file that may contain tokens.
enum PlainContent: Sendable {
    /// Settings. Each string is the name of a setting for a token, followed by the sign before the value. The file
    /// contains a token if one of these settings has a value.
    case settings([String])
    /// The format of `.netrc`.
    case netrc
    /// The file of Python's PlaintextKeyring.
    case pythonKeyring
    /// A JSON value. It contains a token unless it is null or empty.
    case json
    /// Lines. Each line that is no comment is a token or ends with a colon and a token, which may be missing.
    case lines
    /// Any bytes. The file contains a token if these characters, with which each token begins, occur.
    case beginning(String)

    /// Whether these bytes of the file contain a token.
    func holdsToken(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .settings(let settings):
            guard !bytes.starts(with: "# Encrypted rclone".utf8) else { return false }
            let scan = TokenScan(bytes)
            return settings.contains(where: scan.hasValue)
        case .netrc: return bytes.withUnsafeBytes { NetrcReader($0).hasPassword }
        case .pythonKeyring:
            // A file that is malformed may hold a password.
            return bytes.withUnsafeBytes { bytes in
                guard let found = try? PythonKeyringReader.read(bytes) else { return true }
                return !found.entries.isEmpty || !found.malformed.isEmpty
            }
        case .json:
            let plain = bytes.filter { $0 > 0x20 && $0 < 0x80 }
            return !["", "{}", "[]", "null", "\"\""].contains { plain.elementsEqual($0.utf8) }
        case .lines:
            return bytes.withUnsafeBytes { ForeignLine.all(in: $0).contains { PlainContent.hasSecret($0.content) } }
        case .beginning(let text):
            return bytes.withUnsafeBytes { TokenScan.first(text, in: $0, from: 0) != nil }
        }
    }

    private static func hasSecret(_ line: Slice<UnsafeRawBufferPointer>) -> Bool {
        let text = line.drop { $0 <= 0x20 }
        guard let first = text.first, let last = text.last(where: { $0 > 0x20 }) else { return false }
        return first != UInt8(ascii: "#") && last != UInt8(ascii: ":")
    }
}

extension PlainContent: ExpressibleByArrayLiteral {
    init(arrayLiteral settings: String...) { self = .settings(settings) }
}
