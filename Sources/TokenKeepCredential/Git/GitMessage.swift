import TokenKeepCore
import TokenKeepTerminal

/// A message of git's credential protocol: lines `KEY=VALUE` up to an empty line or the end of the input.
///
/// Unknown keys are ignored. The whole message is in guarded memory; a value is copied only when it is read.
struct GitMessage {
    /// The maximum length of a line in bytes, line feed included. git would truncate a longer line.
    static let longestLine = 65_535
    /// The keys that must not occur twice.
    private static let single: Set<String> = [
        "protocol", "host", "path", "username", "password", "password_expiry_utc", "oauth_refresh_token", "authtype",
        "credential", "ephemeral",
    ]
    /// The keys that may occur several times. An empty value removes the earlier values.
    private static let several: Set<String> = ["capability[]", "state[]"]

    private let bytes: SecretBytes
    private var places: [String: Range<Int>] = [:]
    private var lists: [String: [Range<Int>]] = [:]

    /// Parses a message.
    ///
    /// - Throws: ``Status/invalid`` if a line is too long, has no key, contains a NUL or a carriage return, or has no
    ///   line feed at its end, or if a key of ``single`` occurs twice.
    init(_ bytes: SecretBytes) throws(TokenKeepError) {
        self.bytes = bytes
        var start = 0
        while start < bytes.count {
            let end = bytes.withUnsafeBytes { $0[start...].firstIndex(of: UInt8(ascii: "\n")) }
            guard let end else { throw RequestInput.cut }
            if end == start { return }
            try read(start..<end)
            start = end + 1
        }
    }

    private mutating func read(_ line: Range<Int>) throws(TokenKeepError) {
        guard line.count < GitMessage.longestLine else {
            throw TokenKeepError(.invalid, "a line of the request is longer than \(GitMessage.longestLine) bytes")
        }
        let (key, start) = try bytes.withUnsafeBytes { bytes throws(TokenKeepError) -> (String?, Int) in
            let text = bytes[line]
            guard !text.contains(0), !text.contains(UInt8(ascii: "\r")) else {
                throw TokenKeepError(.invalid, "a line of the request has a NUL or a carriage return")
            }
            guard let equals = text.firstIndex(of: UInt8(ascii: "=")), equals > line.lowerBound else {
                throw TokenKeepError(.invalid, "a line of the request has no key")
            }
            return (String(checking: UnsafeRawBufferPointer(rebasing: text[..<equals])), equals + 1)
        }
        guard let key else { return }
        let value = start..<line.upperBound
        if GitMessage.several.contains(key) {
            lists[key] = value.isEmpty ? [] : (lists[key] ?? []) + [value]
        } else if GitMessage.single.contains(key) {
            guard places.updateValue(value, forKey: key) == nil else {
                throw TokenKeepError(.invalid, "the request has two lines \(key)")
            }
        }
    }

    /// Copies the value of a key into guarded memory; nil if the key is absent, or if its value is empty and may not be.
    func secret(_ key: String, mayBeEmpty: Bool = false) throws(TokenKeepError) -> SecretBytes? {
        guard let place = places[key], mayBeEmpty || !place.isEmpty else { return nil }
        return try bytes.withUnsafeBytes { bytes throws(TokenKeepError) in
            try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[place]))
        }
    }

    /// Returns the value of a key whose value is not secret; nil if the key is absent.
    func text(_ key: String) throws(TokenKeepError) -> String? {
        try places[key].map { place throws(TokenKeepError) in try text(at: place, of: key) }
    }

    /// Returns the values of a key that may occur several times, in their order.
    func texts(_ key: String) throws(TokenKeepError) -> [String] {
        var texts: [String] = []
        for place in lists[key] ?? [] { texts.append(try text(at: place, of: key)) }
        return texts
    }

    private func text(at place: Range<Int>, of key: String) throws(TokenKeepError) -> String {
        guard let text = bytes.withUnsafeBytes({ String(checking: UnsafeRawBufferPointer(rebasing: $0[place])) }) else {
            throw TokenKeepError(.invalid, "the request's \(key) is not UTF-8")
        }
        return text
    }
}
