import CSodium
public import TokenKeepCore

/// The claims of a JSON Web Token (RFC 7519), read without checking its signature: anybody can have written them.
public struct UnverifiedClaims {
    private let json: JSONValue

    /// Decodes the claims of a token; nil if it is opaque or damaged.
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

    /// A claim that is a string or a whole number; nil for any other.
    public func unverified(_ name: String) -> String? { json[name]?.text ?? json[name]?.integer.map(String.init) }

    /// The strings of a claim that is one string or an array of strings; none for any other.
    package func texts(_ name: String) -> [String] { json[name].map { $0.text.map { [$0] } ?? $0.texts } ?? [] }

    /// The claims as one line of JSON.
    public func serialized() throws(TokenKeepError) -> SecretBytes { try json.serialized() }

    /// Decodes base64url without padding (RFC 7515 section 2).
    private static func decode(_ token: SecretBytes, _ start: Int, _ end: Int) -> SecretBytes? {
        var length = 0
        var isDecoded = false
        let decoded = try? SecretBytes(count: max(1, (end - start) * 3 / 4 + 3)) { output in
            token.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                guard let target = output.bindMemory(to: UInt8.self).baseAddress else { return }
                isDecoded =
                    sodium_base642bin(
                        target, output.count,
                        part.bindMemory(to: CChar.self).baseAddress, part.count, nil, &length, nil,
                        sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 && length > 0
            }
        }
        return isDecoded ? try? decoded?.prefix(length) : nil
    }
}
