import TokenKeepCore

/// A certificate and its private key, which were read from one text of PEM blocks.
struct PEMPair {
    /// The blocks other than the private key, in their order: the certificate and the certificates of its issuers.
    let certificates: SecretBytes
    /// The block of the private key.
    let key: SecretBytes

    /// Separates the blocks of a PEM text; nil if no line of the secret begins a block. Other text between the blocks
    /// is ignored, for example the text that `openssl x509 -text` writes.
    ///
    /// - Throws: ``Status/corrupt`` if the text does not have exactly one private key and at least one certificate, or
    ///   if a block begins in the line in which another block ends.
    init?(_ secret: SecretBytes) throws(TokenKeepError) {
        let beginning = "-----BEGIN "
        var keys: [Range<Int>] = []
        var others: [Range<Int>] = []
        var hasBlock = false
        var isJoined = false
        secret.withUnsafeBytes { bytes in
            var start: Int?
            var isKey = false
            var position = 0
            while position < bytes.count {
                let end = bytes[position...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
                let line = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
                if line.starts(with: beginning.utf8) {
                    start = position
                    hasBlock = true
                    isKey = PEMPair.namesKey(line)
                } else if line.starts(with: "-----END ".utf8), let begun = start {
                    isJoined = isJoined || line.indices.contains { line[$0...].starts(with: beginning.utf8) }
                    if isKey { keys.append(begun..<end) } else { others.append(begun..<end) }
                    start = nil
                }
                position = end
            }
        }
        guard hasBlock else { return nil }
        guard !isJoined else {
            throw TokenKeepError(
                .corrupt, "a block of the PEM text begins in the line in which another ends",
                hint:
                    "put a line feed between certificate and key: (cat cert.pem; echo; cat key.pem) | tokenkeep save …")
        }
        guard keys.count == 1, !others.isEmpty else {
            throw TokenKeepError(.corrupt, "the PEM text does not have one private key and a certificate")
        }
        key = try PEMPair.joined(keys, of: secret)
        certificates = try PEMPair.joined(others, of: secret)
    }

    /// Whether the first line of a block names a private key of any kind.
    private static func namesKey(_ line: UnsafeRawBufferPointer) -> Bool {
        String(decoding: line, as: UTF8.self).split(whereSeparator: { $0 == "-" || $0.isWhitespace }).suffix(2)
            == ["PRIVATE", "KEY"]
    }

    private static func joined(_ ranges: [Range<Int>], of secret: SecretBytes) throws(TokenKeepError) -> SecretBytes {
        var text = SecretText()
        for range in ranges {
            text.append(
                try secret.withUnsafeBytes { bytes throws(TokenKeepError) in
                    try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[range]))
                })
        }
        return try text.joined()
    }
}
