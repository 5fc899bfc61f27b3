import CSodium

/// Encodes and decodes base64, for the registry's keys and values and for join codes.
enum Base64 {
    enum Alphabet {
        /// The standard alphabet with padding, which all of etcd's gateways accept.
        case standard
        /// The URL-safe alphabet without padding, for text that people copy.
        case url

        fileprivate var variant: Int32 {
            switch self {
            case .standard: 1  // sodium_base64_VARIANT_ORIGINAL
            case .url: 7  // sodium_base64_VARIANT_URLSAFE_NO_PADDING
            }
        }
    }

    static func text(_ bytes: [UInt8], _ alphabet: Alphabet = .standard) -> String {
        let length = sodium_base64_encoded_len(bytes.count, alphabet.variant)
        return String(unsafeUninitializedCapacity: length) { text in
            text.withMemoryRebound(to: CChar.self) { text in
                guard let start = text.baseAddress else { return }
                _ = sodium_bin2base64(start, text.count, bytes, bytes.count, alphabet.variant)
            }
            return length - 1
        }
    }

    /// Decodes base64; nil if the text is not valid base64.
    static func bytes(_ text: UnsafeRawBufferPointer, _ alphabet: Alphabet = .standard) -> [UInt8]? {
        guard let start = text.bindMemory(to: CChar.self).baseAddress, text.count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 3)
        var (length, end) = (0, UnsafePointer<CChar>?.none)
        guard
            sodium_base642bin(&bytes, bytes.count, start, text.count, nil, &length, &end, alphabet.variant) == 0,
            end == start + text.count
        else { return nil }
        bytes.removeSubrange(length...)
        return bytes
    }
}
