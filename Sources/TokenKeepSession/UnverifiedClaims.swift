public import TokenKeepCore

/// The claims of a JSON Web Token (RFC 7519). Its signature is not checked, so anybody may have written them.
public struct UnverifiedClaims {
    private let json: JSONValue

    /// Decodes the claims of a token; nil if the token is no JSON Web Token, or is damaged.
    public init?(unverified token: SecretBytes) {
        let parts = token.withUnsafeBytes { bytes in
            bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
                ($0.startIndex, $0.endIndex)
            }
        }
        guard parts.count == 3, let decoded = UnverifiedClaims.decode(token, parts[1].0, parts[1].1),
            let json = decoded.withUnsafeBytes({ JSONValue.answer($0) })
        else { return nil }
        self.json = json
    }

    /// The value of a claim that is a string or a whole number; nil for a claim of another type.
    public func unverified(_ name: String) -> String? { json[name]?.text ?? json[name]?.integer.map(String.init) }

    /// The values of a claim that is a string, a whole number, or an array of strings and whole numbers; empty for a
    /// claim of another type.
    package func texts(_ name: String) -> [String] { unverified(name).map { [$0] } ?? json[name]?.words ?? [] }

    /// The value of a claim that is a time (NumericDate, RFC 7519 section 2), in Unix seconds, rounded down; nil for
    /// another type.
    package func seconds(_ name: String) -> Int64? {
        json[name]?.number.map { Int64(min(max($0.rounded(.down), -UnverifiedClaims.latest), UnverifiedClaims.latest)) }
    }

    /// The maximum time, in Unix seconds. Later times are cut to it, so that sums of times do not overflow.
    private static let latest = 1e15

    /// The claims as one line of JSON.
    public func serialized() throws(TokenKeepError) -> SecretBytes { try json.serialized() }

    /// Decodes a part of a token from base64url (RFC 7515 section 2), or from base64, with or without padding.
    private static func decode(_ token: SecretBytes, _ start: Int, _ end: Int) -> SecretBytes? {
        token.withUnsafeBytes { bytes -> SecretBytes? in
            let padding = bytes[start..<end].reversed().prefix { $0 == UInt8(ascii: "=") }.count
            let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end - min(padding, 2)])
            return decode(part, .url) ?? decode(part, .unpadded)
        }
    }

    private static func decode(_ part: UnsafeRawBufferPointer, _ alphabet: Base64Text.Alphabet) -> SecretBytes? {
        let decoded = try? SecretBytes(capacity: part.count * 3 / 4 + 3) { output in
            Base64Text.decode(part, into: output, alphabet) ?? 0
        }
        return decoded.flatMap { $0.count > 0 ? $0 : nil }
    }
}
