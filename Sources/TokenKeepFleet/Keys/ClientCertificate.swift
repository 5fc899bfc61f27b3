import Glibc
package import TokenKeepCore

/// Checks of a client certificate: its end, and whether its subject has a common name. With users on, etcd's gateway
/// refuses every call of a certificate with a common name.
package enum ClientCertificate {
    private static let longest = 65536
    /// 2.5.4.3 of X.520, encoded with tag and length.
    private static let commonName: [UInt8] = [0x06, 0x03, 0x55, 0x04, 0x03]

    /// Checks the file of a device's certificate; nil is none.
    ///
    /// - Throws: ``Status/invalid`` if the file has no certificate as PEM, or one with a common name.
    package static func check(_ path: String?) throws(TokenKeepError) {
        guard let path else { return }
        guard let bytes = try PrivateFile.read(path, followsLinks: true),
            let isNamed = bytes.withUnsafeBytes({ hasCommonName($0) })
        else {
            throw TokenKeepError(.invalid, "\(path) has no certificate", hint: "a PEM file of at most 64 KiB")
        }
        guard !isNamed else { throw EtcdAnswers.commonName }
    }

    /// Whether the first certificate of a file is not valid any more. false if that cannot be told.
    static func hasEnded(_ path: String) -> Bool {
        guard let bytes = try? PrivateFile.read(path, followsLinks: true) else { return false }
        return bytes.withUnsafeBytes { end($0) }.map { $0 < UnixTime.now.rawValue } ?? false
    }

    /// Whether the first certificate of a PEM text has a common name that is not empty; nil if there is no certificate.
    package static func hasCommonName(_ pem: UnsafeRawBufferPointer) -> Bool? {
        fields(pem).map { hasCommonName($0.subject) }
    }

    /// The end of the first certificate of a PEM text, in Unix seconds; nil if there is no certificate, or no such time.
    package static func end(_ pem: UnsafeRawBufferPointer) -> Int64? {
        guard let validity = fields(pem)?.validity else { return nil }
        var times = DERReader(validity)
        guard times.next() != nil, let last = times.next() else { return nil }
        // Two digits of a year below 50 are of this century (RFC 5280, section 4.1.2.5.1).
        let century = last.content.count != 13 ? "" : last.content.first ?? 0 < UInt8(ascii: "5") ? "20" : "19"
        let text = Array(century.utf8) + last.content
        guard text.count == 15, text.last == UInt8(ascii: "Z"),
            text.dropLast().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return time(text.map { Int32($0) - 0x30 })
    }

    /// The Unix seconds of the digits `YYYYMMDDhhmmss`; nil if a number is too large.
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

    /// Validity and subject (RFC 5280, section 4.1).
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
        // The version is left out of the oldest form.
        if fields.next()?.tag == DERReader.version { _ = fields.next() }
        // That was the serial number; signature, issuer and validity follow.
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

/// Reads the elements of DER one after another (X.690), with lengths below 64 KiB.
struct DERReader {
    static let sequence: UInt8 = 0x30
    /// The tag `[0]`, which begins the optional version of a certificate (RFC 5280).
    static let version: UInt8 = 0xA0

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The next element; nil at the end, or if it is cut short.
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

    /// The content of the next element if it has this tag.
    mutating func next(tagged tag: UInt8) -> ArraySlice<UInt8>? { next().flatMap { $0.tag == tag ? $0.content : nil } }
}
