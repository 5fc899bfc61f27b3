import Glibc
package import TokenKeepCore

/// Checks whether a client certificate has expired, and whether its subject has a common name.
///
/// If etcd has users, its gateway refuses every call of a client whose certificate has a common name.
package enum ClientCertificate {
    private static let longest = 65536
    /// The object identifier 2.5.4.3 (X.520), encoded with tag and length.
    private static let commonName: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]

    /// Checks the file of a device's certificate. Does nothing if `path` is nil.
    ///
    /// - Throws: ``Status/invalid`` if the file has no PEM certificate, or if the certificate has a common name.
    package static func check(_ path: String?) throws(TokenKeepError) {
        guard let path else { return }
        guard let bytes = try PrivateFile.read(path, followsLinks: true),
            let isNamed = bytes.withUnsafeBytes({ hasCommonName($0) })
        else {
            throw TokenKeepError(.invalid, "\(path) has no certificate", hint: "a PEM file of at most 64 KiB")
        }
        guard !isNamed else { throw EtcdAnswers.commonName }
    }

    /// Whether the first certificate of a file has expired; false if the file cannot be read or parsed.
    static func hasEnded(_ path: String) -> Bool {
        guard let bytes = try? PrivateFile.read(path, followsLinks: true) else { return false }
        return bytes.withUnsafeBytes { end($0) }.map { $0 < UnixTime.now.rawValue } ?? false
    }

    /// Whether the first certificate of a PEM text has a non-empty common name; nil if there is no certificate.
    package static func hasCommonName(_ pem: UnsafeRawBufferPointer) -> Bool? {
        fields(pem).map { hasCommonName($0.subject) }
    }

    /// The end of validity of a PEM text's first certificate, in Unix seconds; nil if it cannot be read.
    package static func end(_ pem: UnsafeRawBufferPointer) -> Int64? {
        guard let validity = fields(pem)?.validity else { return nil }
        var times = DERReader(validity)
        guard times.next() != nil, let last = times.next() else { return nil }
        // A two-digit year below 50 means 20YY, any other 19YY (RFC 5280, section 4.1.2.5.1).
        let century = last.content.count != 13 ? "" : last.content.first ?? 0 < UInt8(ascii: "5") ? "20" : "19"
        let text = Array(century.utf8) + last.content
        guard text.count == 15, text.last == UInt8(ascii: "Z"),
            text.dropLast().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return time(text.map { Int32($0) - 0x30 })
    }

    /// Converts the digits `YYYYMMDDhhmmss` to Unix seconds; nil if a number is out of range.
    private static func time(_ digits: [Int32]) -> Int64? {
        func number(_ at: Int) -> Int32 { digits[at] * 10 + digits[at + 1] }
        var parts = tm()
        parts.tm_year = number(0) * 100 + number(2) - 1900
        parts.tm_mon = number(4) - 1
        (parts.tm_mday, parts.tm_hour) = (number(6), number(8))
        (parts.tm_min, parts.tm_sec) = (number(10), number(12))
        guard (0...11).contains(parts.tm_mon), (1...31).contains(parts.tm_mday), parts.tm_hour < 24, parts.tm_min < 60,
            parts.tm_sec <= 60
        else { return nil }
        return Int64(timegm(&parts))
    }

    private static func certificate(_ lines: [Substring]) -> [UInt8]? {
        guard let begin = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----") else { return nil }
        let body = lines[lines.index(after: begin)...].prefix { !$0.hasPrefix("-----") }.joined()
        return Array(body.utf8).withUnsafeBytes { Base64.bytes($0) }
    }

    /// The fields validity and subject of a certificate (RFC 5280, section 4.1); nil if it cannot be parsed.
    private static func fields(
        _ pem: UnsafeRawBufferPointer
    ) -> (validity: ArraySlice<UInt8>, subject: ArraySlice<UInt8>)? {
        guard pem.count <= longest, let text = String(validating: pem, as: UTF8.self),
            let bytes = certificate(text.split(whereSeparator: \.isNewline))
        else { return nil }
        var outer = DERReader(bytes[...])
        guard let whole = outer.next(tagged: DERReader.sequence) else { return nil }
        var certificate = DERReader(whole)
        guard let toBeSigned = certificate.next(tagged: DERReader.sequence) else { return nil }
        var fields = DERReader(toBeSigned)
        // The version is optional, so the first field may already be the serial number.
        if fields.next()?.tag == DERReader.version { _ = fields.next() }
        // The serial number has been read. Signature, issuer and validity follow.
        guard fields.next() != nil, fields.next() != nil, let validity = fields.next(tagged: DERReader.sequence),
            let subject = fields.next(tagged: DERReader.sequence)
        else { return nil }
        return (validity, subject)
    }

    private static func hasCommonName(_ names: ArraySlice<UInt8>) -> Bool {
        var names = DERReader(names)
        while let set = names.next() {
            var attributes = DERReader(set.content)
            while let attribute = attributes.next() {
                guard attribute.content.starts(with: commonName) else { continue }
                var value = DERReader(attribute.content.dropFirst(commonName.count))
                if let text = value.next(), !text.content.isEmpty { return true }
            }
        }
        return false
    }
}

/// Reads DER elements in sequence (X.690). Lengths must be below 64 KiB.
struct DERReader {
    static let sequence: UInt8 = 0x30
    /// The tag `[0]`, which begins the optional version of a certificate (RFC 5280).
    static let version: UInt8 = 0xA0

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Reads the next element; nil at the end, or if the element is truncated.
    mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let digits = rest.prefix(Int(first & 0x7F))
            guard (1...2).contains(digits.count), digits.count == Int(first & 0x7F) else { return nil }
            length = digits.reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(digits.count)
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }

    /// Reads the next element, and returns its content; nil if the element has another tag.
    mutating func next(tagged tag: UInt8) -> ArraySlice<UInt8>? { next().flatMap { $0.tag == tag ? $0.content : nil } }
}
