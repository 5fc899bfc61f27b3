import TestSupport
import Testing
import TokenKeepCore

@testable import TokenKeepFleet

@Suite("Client certificates")
struct ClientCertificateTests {
    private func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let length = content.count
        if length < 0x80 { return [tag, UInt8(length)] + content }
        return [tag, 0x82, UInt8(length >> 8), UInt8(length & 0xFF)] + content
    }

    private func name(_ last: UInt8, _ text: String) -> [UInt8] {
        element(0x31, element(0x30, [0x06, 0x03, 0x55, 0x04, last] + element(0x0C, Array(text.utf8))))
    }

    /// A certificate as far as its subject.
    private func pem(_ names: [UInt8], end: String = "301231235959Z", hasVersion: Bool = true) -> [UInt8] {
        let validity =
            element(0x17, Array("200101000000Z".utf8)) + element(end.utf8.count == 13 ? 0x17 : 0x18, Array(end.utf8))
        let fields =
            (hasVersion ? element(0xA0, element(0x02, [2])) : []) + element(0x02, [1]) + element(0x30, [])
            + element(0x30, name(0x03, "an authority's common name does not count")) + element(0x30, validity)
            + element(0x30, names)
        let text = Base64.text(element(0x30, element(0x30, fields)))
        return Array("-----BEGIN CERTIFICATE-----\r\n\(text)\r\n-----END CERTIFICATE-----\r\n".utf8)
    }

    private func hasCommonName(_ bytes: [UInt8]) -> Bool? {
        bytes.withUnsafeBytes { ClientCertificate.hasCommonName($0) }
    }
    private func end(_ bytes: [UInt8]) -> Int64? { bytes.withUnsafeBytes { ClientCertificate.end($0) } }

    @Test("a common name of the subject is found in any place, an empty one is none")
    func commonNames() {
        for hasVersion in [true, false] {
            #expect(hasCommonName(pem(name(0x0A, "fleet"), hasVersion: hasVersion)) == false)
            #expect(hasCommonName(pem(name(0x0A, "fleet") + name(0x03, "laptop"), hasVersion: hasVersion)) == true)
            #expect(hasCommonName(pem(name(0x03, ""), hasVersion: hasVersion)) == false)
        }
        #expect(hasCommonName(pem([])) == false)
    }

    @Test("the end of a certificate is read in both forms")
    func ends() {
        #expect(end(pem([])) == 1_924_991_999)
        #expect(end(pem([], end: "20501231235959Z")) == 2_556_143_999)
        #expect(end(pem([], end: "991231235959Z")) == 946_684_799)
        for malformed in ["3012312359Z", "30123123595Z9", "301331235959Z", ""] {
            #expect(end(pem([], end: malformed)) == nil, "\(malformed)")
        }
    }

    @Test("whatever is no certificate, or a part of one, has no subject")
    func damaged() throws {
        let whole = pem(name(0x0A, "fleet") + name(0x03, "laptop"))
        for text in ["", "-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----\n!\n", "laptop"] {
            #expect(hasCommonName(Array(text.utf8)) == nil)
        }
        let lines = String(decoding: whole, as: UTF8.self).split(whereSeparator: \.isNewline)
        let bytes = try #require(Array(lines[1].utf8).withUnsafeBytes { Base64.bytes($0) })
        for length in 0..<bytes.count {
            let text = "-----BEGIN CERTIFICATE-----\n\(Base64.text(Array(bytes.prefix(length))))\n"
            #expect(hasCommonName(Array(text.utf8)) == nil, "\(length) bytes")
        }
    }
}
