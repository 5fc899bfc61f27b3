import CSodium

/// A JSON Web Token with these claims and a signature that nobody has made.
///
/// - Parameter variant: libsodium's number of another alphabet or padding.
public func jsonWebToken(_ claims: String, variant: Int32? = nil) -> String {
    let variant = variant ?? sodium_base64_VARIANT_URLSAFE_NO_PADDING
    let encode = { (text: String) -> String in
        let bytes = Array(text.utf8)
        var encoded = [CChar](repeating: 0, count: bytes.count * 2 + 8)
        sodium_bin2base64(&encoded, encoded.count, bytes, bytes.count, variant)
        return String(decoding: encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    return "\(encode(#"{"alg":"RS256"}"#)).\(encode(claims)).c2ln"
}
